// Numbers that a document can spell and the C structs cannot: in which order they are reported.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tool_process.h"

namespace attnplan::test {
namespace {

struct RangeCase {
  std::string members;  // in front of the rest of a small document
  std::string code;     // empty: it is planned
  int request;          // -1: null
  int64_t value;
  int64_t limit;
};

constexpr int64_t kInt32Max = 2147483647;

nlohmann::json plan(const std::string& members) {
  const ToolResult result = run_tool({"plan", "--backend", "unified", "-"}, "{" + members + "}");
  EXPECT_EQ(result.err, "");
  const auto document = nlohmann::json::parse(result.out);
  EXPECT_EQ(result.status, document.at("error").is_null() ? 0 : 1) << members;
  return document;
}

void expect_all(const std::vector<RangeCase>& cases) {
  for (const RangeCase& c : cases) {
    const auto error = plan(c.members).at("error");
    if (c.code.empty()) {
      EXPECT_TRUE(error.is_null()) << c.members << error;
      continue;
    }
    ASSERT_FALSE(error.is_null()) << c.members;
    EXPECT_EQ(error.at("code"), c.code) << c.members << error;
    EXPECT_EQ(error.at("request"), c.request < 0 ? nlohmann::json() : nlohmann::json(c.request))
        << c.members << error;
    EXPECT_EQ(error.at("value"), c.value) << c.members << error;
    EXPECT_EQ(error.at("limit"), c.limit) << c.members << error;
  }
}

const std::string kBatch = R"("query_lens": [3], "seq_lens": [5])";

TEST(Range, AnExplicitZeroIsNoDefault) {
  expect_all({
      {R"("decode_threshold": 0, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, 0, 1},
      {R"("heads": {"num_q_heads": 0}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, 0, 1},
      {R"("heads": {"num_kv_heads": 0}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, 0, 1},
      {R"("kv_cache": {"num_blocks": 0, "block_size": 16}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, 0,
       1},
      {R"("kv_cache": {"num_blocks": 9, "block_size": 0}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, 0,
       1},
  });
}

TEST(Range, ZeroIsAbsentWhereAFieldIsOptional) {
  expect_all({
      {R"("heads": {"head_size": 0, "v_head_size": 0}, )" + kBatch, "", 0, 0, 0},
      {R"("device": {"num_workers": 0}, "options": {"max_segments": 0}, )" + kBatch, "", 0, 0, 0},
      {R"("limits": {"max_model_len": 0, "max_num_seqs": 0}, )" + kBatch, "", 0, 0, 0},
      {R"("num_tokens": 0, "max_query_len": 0, "num_reqs_padded": 0, "num_tokens_padded": 0, )" +
           kBatch,
       "", 0, 0, 0},
  });
}

TEST(Range, NegativeCountsAreRefused) {
  expect_all({
      {R"("decode_threshold": -1, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -1, 1},
      {R"("heads": {"head_size": -1}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -1, 1},
      {R"("sliding_window": -1, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -1, 0},
      {R"("limits": {"max_num_seqs": -1}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -1, 0},
      {R"("num_tokens": -3, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -3, 0},
      {R"("options": {"max_segments": -1}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -1, 1},
      {R"("block_table": {"columns": -1}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, -1, 0},
      {R"("query_lens": [3], "seq_lens": [-5])", "VALUE_OUT_OF_RANGE", 0, -5, 0},
  });
}

// A kernel's bound and the step's own have one name.
TEST(Range, TheMessageSaysWhoseNumberItIs) {
  const auto message = [](const std::string& members) {
    return plan(members).at("error").at("message").get<std::string>();
  };
  EXPECT_EQ(message(R"("backend": {"name": "b", "kernels": [{"name": "k", "route": "extend",
      "max_query_len": -1}]}, )" +
                    kBatch),
            "stdin:2:24: \"backend.kernels[0].max_query_len\" is -1, it must be at least 0");
  EXPECT_EQ(message(R"("decode_threshold": -3, )" + kBatch),
            "stdin:1:22: \"decode_threshold\" is -3, it must be at least 1");
}

TEST(Range, WorkersHaveAnUpperBound) {
  const std::string work = R"("options": {"work": "stream_k"}, )" + kBatch;
  expect_all({
      {R"("device": {"num_workers": 65536}, )" + work, "", 0, 0, 0},
      {R"("device": {"num_workers": 65537}, )" + work, "VALUE_OUT_OF_RANGE", -1, 65537, 65536},
      {R"("device": {"num_workers": 100000000}, )" + work, "VALUE_OUT_OF_RANGE", -1, 100000000,
       65536},
  });
}

TEST(Range, BeyondInt32) {
  expect_all({
      {R"("query_lens": [3, 3000000000], "seq_lens": [5, 5])", "VALUE_OUT_OF_RANGE", 1, 3000000000,
       kInt32Max},
      {R"("query_lens": [3], "seq_lens": [-5000000000])", "VALUE_OUT_OF_RANGE", 0, -5000000000,
       -kInt32Max - 1},
      {R"("query_start_loc": [0, 3, 3000000000], "seq_lens": [5, 5])", "VALUE_OUT_OF_RANGE", 1,
       3000000000, kInt32Max},
      {R"("num_tokens_padded": 2147483648, )" + kBatch, "VALUE_OUT_OF_RANGE", -1, 2147483648,
       kInt32Max},
      {R"("limits": {"max_model_len": 2147483648}, )" + kBatch, "VALUE_OUT_OF_RANGE", -1,
       2147483648, kInt32Max},
      {R"("kv_cache": {"num_blocks": 2147483648, "block_size": 16}, )" + kBatch,
       "VALUE_OUT_OF_RANGE", -1, 2147483648, kInt32Max},
      // Sums that only then go beyond it are the planner's to find.
      {R"("query_lens": [2147483647, 1], "seq_lens": [2147483647, 1])", "VALUE_OUT_OF_RANGE", 1,
       2147483648, kInt32Max},
  });
}

// Cache, then offsets, then requests from the lowest, then scalars.
TEST(Range, TheEarlierCheckWins) {
  const std::string bad_cache =
      R"("kv_cache": {"num_blocks": 4, "block_size": 100, "page_size": 16}, )";
  for (const std::string scalar :
       {R"("decode_threshold": 0, )", R"("decode_threshold": -2, )",
        R"("heads": {"num_q_heads": 0}, )", R"("heads": {"num_q_heads": 16, "num_kv_heads": 3}, )",
        R"("decode_threshold": 0, "options": {"work": "fixed:64", "sections": ["window"]}, )",
        R"("context_parallel": {"world": 2, "rank": 2}, )", R"("sliding_window": 3000000000, )"}) {
    expect_all({
        {scalar + bad_cache + kBatch, "BLOCK_SIZE_UNSUPPORTED", -1, 100, 16},
        {scalar + R"("query_start_loc": [0, 5, 3], "seq_lens": [5, 5])", "QUERY_START_LOC_INVALID",
         1, 3, 5},
        {scalar + R"("query_lens": [1, -1], "seq_lens": [5, 5])", "VALUE_OUT_OF_RANGE", 1, -1, 0},
    });
    // Later checks do not come before the scalar.
    const auto error = plan(scalar + R"("query_lens": [3], "seq_lens": [1])").at("error");
    EXPECT_EQ(error.at("code"), "VALUE_OUT_OF_RANGE") << scalar;
    EXPECT_TRUE(error.at("request").is_null()) << scalar;
  }
  expect_all({
      {R"("query_lens": [-3, 3000000000], "seq_lens": [5, 5])", "VALUE_OUT_OF_RANGE", 0, -3, 0},
      {R"("query_lens": [3, 3000000000, -1], "seq_lens": [5, 5, 5])", "VALUE_OUT_OF_RANGE", 1,
       3000000000, kInt32Max},
      {bad_cache + R"("query_lens": [3000000000], "seq_lens": [5])", "BLOCK_SIZE_UNSUPPORTED", -1,
       100, 16},
      {R"("query_start_loc": [0, 4000000000, 3000000000], "seq_lens": [5, 5])",
       "QUERY_START_LOC_INVALID", 1, kInt32Max - 1, kInt32Max},
  });
}

TEST(Range, BlockIdsBeyondInt32MatterOnlyWhereTheyAreRead) {
  const std::string cache = R"("kv_cache": {"num_blocks": 9, "block_size": 16}, )" + kBatch;
  EXPECT_TRUE(plan(R"("block_table": {"columns": 2, "rows": [[3, 3000000000]]}, )" + cache)
                  .at("error")
                  .is_null());
  EXPECT_EQ(plan(R"("block_table": {"columns": 1, "rows": [[3000000000]]}, )" + cache)
                .at("error")
                .at("code"),
            "PAGE_OUT_OF_RANGE");
  EXPECT_EQ(plan(R"("block_table": {"columns": 0}, )" + cache).at("error").at("code"),
            "BLOCK_TABLE_TOO_NARROW");
}

// As written, at its place, and never as the int32 that it is cut to.
TEST(Range, BlockIdsBeyondInt32AreNamedAsTheyAreWritten) {
  const std::string cache = R"("kv_cache": {"num_blocks": 9, "block_size": 16}, )" + kBatch;
  for (const char* table : {R"("block_table": {"columns": 1, "rows": [[99999999999]]}, )",
                            R"("block_table": {"indptr": [0, 1], "ids": [99999999999]}, )"}) {
    const nlohmann::json error = plan(table + cache).at("error");
    EXPECT_EQ(error.at("code"), "PAGE_OUT_OF_RANGE");
    EXPECT_EQ(error.at("value"), 99999999999);
    EXPECT_EQ(error.at("limit"), 9);
    const auto message = error.at("message").get<std::string>();
    EXPECT_NE(message.find("block 0 of request 0 has id 99999999999, but the cache has 9 blocks"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find(":1:"), std::string::npos) << message;
  }
  const nlohmann::json negative =
      plan(R"("block_table": {"columns": 1, "rows": [[-99999999999]]}, )" + cache).at("error");
  EXPECT_EQ(negative.at("value"), -99999999999);
  // The one that is really there is not mistaken for the other.
  const nlohmann::json real =
      plan(R"("block_table": {"columns": 2, "rows": [[2147483647, 99999999999]]}, )" + cache)
          .at("error");
  EXPECT_EQ(real.at("value"), 2147483647);
}

}  // namespace
}  // namespace attnplan::test
