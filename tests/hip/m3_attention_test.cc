// MiniMax-M3 from the plan to the output, every kernel on every simulated architecture.
// ATTNPLAN_HIP_SEED draws other problems.
#include <gtest/gtest.h>

#include <cstdlib>

#include "hip/emulation.h"
#include "hip/m3_problem.h"

namespace attnplan::hip_test {
namespace {

using hip::TableArch;

uint64_t seed() {
  const char* text = std::getenv("ATTNPLAN_HIP_SEED");
  return text != nullptr ? static_cast<uint64_t>(std::atoll(text)) : 1;
}

class M3Attention : public testing::TestWithParam<Format> {};

TEST_P(M3Attention, IsThatOfTheOracleOverItsBlocks) {
  for (const TableArch arch :
       {TableArch::kGfx90a, TableArch::kGfx942, TableArch::kGfx950, TableArch::kSm90}) {
    for (const bool shuffle : {false, true}) {
      const uint64_t mine = 1000 * seed() + 100 * static_cast<uint64_t>(GetParam()) +
                            10 * static_cast<uint64_t>(arch) + (shuffle ? 1 : 0);
      hip::emulation().arch = arch;
      hip::emulation().seed = mine;
      const M3Description description = draw_m3(mine, GetParam(), shuffle);
      for (const std::string& failure : solve_m3(description)) {
        ADD_FAILURE() << words(description) << "\n  " << failure;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, M3Attention,
                         testing::Values(Format::kBf16, Format::kFp16, Format::kE4m3fn,
                                         Format::kE4m3fnuz, Format::kE5m2),
                         [](const auto& tested) {
                           return std::string(cpu::name_of(tested.param));
                         });

}  // namespace
}  // namespace attnplan::hip_test
