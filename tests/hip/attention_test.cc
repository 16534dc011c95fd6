// Every attention kernel of kernels.inc on every simulated architecture, over every kind of batch.
// ATTNPLAN_HIP_SEED draws other problems; ATTNPLAN_HIP_STRIDE=n takes every n-th.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "hip/draw.h"
#include "hip/emulation.h"
#include "hip/problem.h"

namespace attnplan::hip_test {
namespace {

using hip::TableArch;

constexpr TableArch kArchs[] = {TableArch::kGfx90a, TableArch::kGfx942, TableArch::kGfx950,
                                TableArch::kSm90};
constexpr const char* kArchNames[] = {"gfx90a", "gfx942", "gfx950", "sm_90"};

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}
uint64_t seed() { return static_cast<uint64_t>(number_from("ATTNPLAN_HIP_SEED", 1)); }

void emulate(TableArch arch, uint64_t order) {
  hip::emulation().arch = arch;
  hip::emulation().seed = order;
}

void expect_right(const Verdict& verdict, const Problem& problem, TableArch arch) {
  for (const std::string& failure : verdict.failures) {
    ADD_FAILURE() << kArchNames[static_cast<int>(arch)] << ", " << words(problem.description())
                  << "\n  " << failure;
  }
}

class Attention : public testing::TestWithParam<int> {};

TEST_P(Attention, IsThatOfTheReference) {
  const KernelLine& line = kKernelLines[GetParam()];
  const int64_t stride = number_from("ATTNPLAN_HIP_STRIDE", 1);
  for (int b = 0; b < kNumBatches; ++b) {
    if ((b + GetParam()) % stride != 0) continue;
    const Problem problem(draw(line, static_cast<Batch>(b), seed(), Size()));
    for (const TableArch arch : kArchs) {
      emulate(arch, seed() + static_cast<uint64_t>(b));
      expect_right(problem.solve(), problem, arch);
    }
  }
}

std::string name_of_parameter(const testing::TestParamInfo<int>& info) {
  std::string name = name_of(kKernelLines[info.param]);
  for (char& c : name) c = c == '/' || c == '+' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Lines, Attention, testing::Range(0, kNumKernelLines), name_of_parameter);

TEST(Attention, IsRightAfterRefreshAndInAWrittenCache) {
  const int64_t stride = number_from("ATTNPLAN_HIP_STRIDE", 1);
  constexpr Batch kBatches[] = {Batch::kVerify, Batch::kRagged, Batch::kMixed, Batch::kPads};
  for (int i = 0; i < kNumKernelLines; i += static_cast<int>(stride)) {
    for (const Way way : {Way::kRefresh, Way::kWrite}) {
      const Problem problem(draw_way(kKernelLines[i], kBatches[i % 4], way, seed(), Size()));
      const TableArch arch = kArchs[(i + i / 4) % 4];
      emulate(arch, seed());
      expect_right(problem.solve(), problem, arch);
    }
  }
}

// Pads that have rows, and rows that nobody has.
TEST(Attention, OfRowsWithoutKeysIsDefined) {
  const int64_t stride = number_from("ATTNPLAN_HIP_STRIDE", 1);
  int64_t pads = 0;
  for (int i = 0; i < kNumPadTrials; i += static_cast<int>(stride)) {
    const PadTrial& trial = kPadTrials[i];
    for (int a = 0; a < 8; ++a) {
      const KernelLine& line = kKernelLines[(7 * i + 5 * a) % kNumKernelLines];
      const Problem problem(draw_way(line, trial.batch, trial.way, seed() + a, Size()));
      emulate(kArchs[a % 4], seed() + static_cast<uint64_t>(i));
      const Verdict verdict = problem.solve();
      expect_right(verdict, problem, kArchs[a % 4]);
      pads += verdict.pads;
    }
  }
  EXPECT_GT(pads, 0);
}

// One request over more workers than the merge weighs at a time.
TEST(Attention, OfOneRequestOnHundredsOfWorkers) {
  Size size;
  size.longest = 34000;
  Description description = draw(kKernelLines[0], Batch::kLong, seed(), size);
  description.num_kv_heads = 1;
  description.group = 2;
  description.sliding_window = 0;
  description.work = ATTNPLAN_WORK_EQUAL_CHUNKS;
  description.num_workers = 600;
  const Problem problem(description);
  const TableArch arch = kArchs[seed() % 4];
  emulate(arch, seed());
  expect_right(problem.solve(), problem, arch);
}

// Decode, extend and prefill kernels share code, but the planner cuts their work differently.
TEST(Attention, IsTheSameOnEveryRoute) {
  const int64_t stride = number_from("ATTNPLAN_HIP_STRIDE", 1);
  for (int i = 0; i < kNumKernelLines; i += static_cast<int>(3 * stride)) {
    const auto batch = i % 2 == 0 ? Batch::kVerify : Batch::kMixed;
    const Problem problem(draw(kKernelLines[i], batch, seed() + 1, Size()));
    const TableArch arch = kArchs[i % 4];
    emulate(arch, seed());
    std::vector<double> decode, other;
    expect_right(problem.solve(Kernels::kDecode, &decode), problem, arch);
    for (const Kernels kernels : {Kernels::kExtend, Kernels::kPrefill}) {
      expect_right(problem.solve(kernels, &other), problem, arch);
      ASSERT_EQ(decode.size(), other.size());
      double difference = 0;
      for (size_t e = 0; e < decode.size(); ++e) {
        difference = std::max(difference, std::fabs(decode[e] - other[e]));
      }
      EXPECT_LT(difference, tolerance(problem.description())) << words(problem.description());
    }
  }
}

}  // namespace
}  // namespace attnplan::hip_test
