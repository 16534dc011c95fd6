// Steps of real traces through plan, kernels and merge on a simulated device, against the oracle:
// the way `attnplan run --device hip` takes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/lengths.h"
#include "gpu/device_run.h"
#include "hip/emulation.h"
#include "json/batch_document.h"

namespace attnplan::gpu {
namespace {

constexpr int32_t kMostRows = 500;  // of a step that is worth simulating
constexpr int kSteps = 4;

class HostMemory : public Memory {
 public:
  void* allocate(size_t bytes) override {
    EXPECT_GT(bytes, 0u);  // CUDA refuses that
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void release(void* address) override { std::free(address); }
  void upload(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
};

Device simulated_device(hip::TableArch arch) {
  hip::emulation().arch = arch;
  hip::emulation().compute_units = 20;
  Device device;
  device.library = {&attnplan_hip_device,
                    &attnplan_hip_contracts,
                    &attnplan_hip_workspace_size,
                    &attnplan_hip_launch,
                    &attnplan_hip_select_workspace_size,
                    &attnplan_hip_select};
  device.memory = std::make_unique<HostMemory>();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  EXPECT_EQ(device.library.device(0, &device.info, &error), ATTNPLAN_OK) << error.message;
  return device;
}

// The first steps of few rows.
std::vector<json::BatchDocument> read_steps(const std::string& file) {
  std::ifstream lines(std::string(ATTNPLAN_TEST_DATA) + "/traces/" + file);
  std::vector<json::BatchDocument> steps;
  std::string line;
  while (static_cast<int>(steps.size()) < kSteps && std::getline(lines, line)) {
    json::BatchDocument step;
    const auto error = json::parse_batch(line, {file, 1, 1}, "hip", step);
    EXPECT_FALSE(error.has_value()) << error->message;
    if (cpu::read_lengths(step.step()).rows() <= kMostRows) steps.push_back(std::move(step));
  }
  EXPECT_EQ(static_cast<int>(steps.size()), kSteps);
  return steps;
}

// Heads and contexts short, rows and their mapping as they are.
cpu::RunOptions small() {
  cpu::RunOptions options;
  options.max_kv_heads = 1;
  options.max_group = 2;
  options.max_seq_len = 200;
  return options;
}

class HipTrace : public testing::TestWithParam<const char*> {};

TEST_P(HipTrace, StepsGiveTheOraclesAnswers) {
  constexpr hip::TableArch kArchs[] = {hip::TableArch::kGfx942, hip::TableArch::kSm90};
  int index = 0;
  for (const json::BatchDocument& step : read_steps(GetParam())) {
    SCOPED_TRACE(step.name());
    const Device device = simulated_device(kArchs[index % 2]);
    attnplan_config config = step.config();
    config.order = index / 2 % 2 == 0 ? ATTNPLAN_ORDER_AS_GIVEN : ATTNPLAN_ORDER_SORT;
    const cpu::RunReport report = run(device, config, step.step(), step.group(), small());
    EXPECT_EQ(report.problem, "");
    EXPECT_TRUE(report.ok) << report.max_error << ", log-sum-exp " << report.max_lse_error
                           << ", row " << report.worst_row << " of " << report.rows;
    EXPECT_EQ(report.rows_compared, report.rows);
    EXPECT_GT(report.max_error, 0);  // of rounding: something was compared
    ++index;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, HipTrace,
                         testing::Values("code_plain.jsonl", "conversation_eagle3.jsonl"),
                         [](const auto& file) {
                           return std::string(file.param).substr(0, std::strcspn(file.param, "."));
                         });

// Layouts and formats as documents describe them.
TEST(HipRun, ReadsTheCacheOfADocument) {
  constexpr const char* kDocument =
      R"({"name": "cache", "query_lens": [1, 3, 0, 20], "seq_lens": [70, 40, 0, 33],
          "decode_threshold": 4,
          "heads": {"num_q_heads": 8, "num_kv_heads": 2, "head_size": 64},
          "kv_cache": {"num_blocks": 40, "block_size": 32, "page_size": 16, "layout": "lbhnc",
                       "packed": true, "shuffle": true, "cache_dtype": "fp8"}})";
  json::BatchDocument document;
  const auto error = json::parse_batch(kDocument, {"test", 1, 1}, "hip", document);
  ASSERT_FALSE(error.has_value()) << error->message;
  for (const auto arch : {hip::TableArch::kGfx942, hip::TableArch::kGfx950}) {
    const Device device = simulated_device(arch);
    const cpu::RunReport report =
        run(device, document.config(), document.step(), document.group(), {});
    EXPECT_EQ(report.problem, "");
    EXPECT_TRUE(report.ok) << report.max_error << " " << report.max_lse_error;
  }
}

// Steps in a full graph, and a step of a rank that has nothing to do.
TEST(HipRun, ClearsTheRowsThatAGraphAdds) {
  struct Case {
    const char* document;
    int64_t pads;
  };
  constexpr Case kCases[] = {
      {R"({"query_lens": [1, 3, 0, 20], "seq_lens": [70, 40, 0, 33], "decode_threshold": 4,
           "graph": {"full": [8, 32, 64]}, "heads": {"head_size": 64}})",
       8},
      {R"({"query_lens": [2, 2], "seq_lens": [70, 40], "decode_threshold": 2,
           "graph": {"piecewise": [16]}, "heads": {"head_size": 64}})",
       0},
      {R"({"query_lens": [2, 2], "seq_lens": [70, 40], "decode_threshold": 2, "num_tokens_padded": 9,
           "graph": {"full": [4, 16]}, "heads": {"num_q_heads": 8, "num_kv_heads": 2},
           "kv_cache": {"num_blocks": 40, "block_size": 16}, "limits": {"max_num_seqs": 8}})",
       12},
      {R"({"query_lens": [0, 0], "seq_lens": [0, 0], "num_tokens_padded": 9,
           "graph": {"full": [4, 16]}, "heads": {"head_size": 64}})",
       16},
      {R"({"query_lens": [], "seq_lens": [], "num_tokens_padded": 3,
           "graph": {"full": [4, 16]}, "kv_cache": {"num_blocks": 40, "block_size": 16}})",
       4}};
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.document);
    json::BatchDocument document;
    const auto error = json::parse_batch(c.document, {"test", 1, 1}, "hip", document);
    ASSERT_FALSE(error.has_value()) << error->message;
    for (const auto arch : {hip::TableArch::kGfx942, hip::TableArch::kSm90}) {
      const Device device = simulated_device(arch);
      const cpu::RunReport report =
          run(device, document.config(), document.step(), document.group(), {});
      EXPECT_EQ(report.problem, "");
      EXPECT_TRUE(report.ok) << report.max_error << " " << report.max_lse_error;
      EXPECT_EQ(report.pad_rows, c.pads);
    }
  }
}

// More blocks than a row attends, so that a wrong choice shows; blocks of our own and given ones.
TEST(HipRun, SelectsTheBlocksOfMiniMaxM3) {
  constexpr const char* kDocuments[] = {
      R"({"name": "own blocks", "query_lens": [1, 0, 3], "seq_lens": [2900, 0, 400],
          "heads": {"num_q_heads": 8, "num_kv_heads": 2}})",
      R"({"name": "fp8, packed", "query_lens": [2, 1, 5], "seq_lens": [2500, 130, 5],
          "heads": {"num_q_heads": 4, "num_kv_heads": 1},
          "kv_cache": {"num_blocks": 40, "block_size": 128, "page_size": 16, "layout": "lbhnc",
                       "packed": true, "cache_dtype": "fp8"}})"};
  for (const auto arch : {hip::TableArch::kGfx942, hip::TableArch::kSm90}) {
    for (const char* text : kDocuments) {
      json::BatchDocument document;
      const auto error = json::parse_batch(text, {"test", 1, 1}, "hip_m3", document);
      ASSERT_FALSE(error.has_value()) << error->message;
      SCOPED_TRACE(document.name());
      const Device device = simulated_device(arch);
      const cpu::RunReport report =
          run(device, document.config(), document.step(), document.group(), {});
      EXPECT_EQ(report.problem, "");
      EXPECT_TRUE(report.sparse);
      EXPECT_TRUE(report.ok) << report.max_error << " " << report.max_lse_error;
    }
  }
}

TEST(HipRun, SaysWhyABatchCannotRun) {
  constexpr const char* kDocument =
      R"({"query_lens": [1], "seq_lens": [70], "heads": {"head_size": 72}})";
  json::BatchDocument document;
  const auto error = json::parse_batch(kDocument, {"test", 1, 1}, "hip", document);
  ASSERT_FALSE(error.has_value()) << error->message;
  const Device device = simulated_device(hip::TableArch::kGfx950);
  const cpu::RunReport report =
      run(device, document.config(), document.step(), document.group(), {});
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.problem, "");
}

}  // namespace
}  // namespace attnplan::gpu
