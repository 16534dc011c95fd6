// The dummy split for graph capture.
#include <gtest/gtest.h>

#include <numeric>

#include "everything.h"

namespace attnplan::plan {
namespace {

TEST(Capture, SpreadsTheRemainderOverTheFirstRequests) {
  for (int32_t requests = 1; requests <= 40; ++requests) {
    for (int32_t rows = requests; rows <= 170; ++rows) {
      std::vector<int32_t> lengths(static_cast<size_t>(requests) + 1, -7);
      ASSERT_EQ(attnplan_capture_query_lens(rows, requests, lengths.data(), nullptr), ATTNPLAN_OK);
      ASSERT_EQ(lengths.back(), -7) << "written behind the end";
      lengths.pop_back();
      ASSERT_EQ(std::accumulate(lengths.begin(), lengths.end(), 0), rows);
      for (int32_t i = 0; i < requests; ++i) {
        ASSERT_EQ(lengths[static_cast<size_t>(i)], rows / requests + (i < rows % requests))
            << rows << " rows over " << requests;
      }
    }
  }
}

TEST(Capture, KnowsNoRequestsAndRefusesNonsense) {
  int32_t length = -7;
  EXPECT_EQ(attnplan_capture_query_lens(0, 0, &length, nullptr), ATTNPLAN_OK);
  EXPECT_EQ(length, -7);
  Error error;
  EXPECT_NE(attnplan_capture_query_lens(4, 0, &length, error.get()), ATTNPLAN_OK);
  EXPECT_NE(attnplan_capture_query_lens(-1, 1, &length, error.get()), ATTNPLAN_OK);
  EXPECT_NE(attnplan_capture_query_lens(1, -1, &length, error.get()), ATTNPLAN_OK);
  EXPECT_NE(attnplan_capture_query_lens(4, 2, nullptr, error.get()), ATTNPLAN_OK);
  EXPECT_EQ(length, -7);
}

// Fewer rows than requests: the last ones are pads, none is negative.
TEST(Capture, LeavesTheLastRequestsEmpty) {
  int32_t lengths[5];
  ASSERT_EQ(attnplan_capture_query_lens(3, 5, lengths, nullptr), ATTNPLAN_OK);
  EXPECT_EQ(std::vector<int32_t>(lengths, lengths + 5), (std::vector<int32_t>{1, 1, 1, 0, 0}));
}

// What the split is for: the dummy batch of a uniform graph is routed as the live one will be.
TEST(Capture, ADummyBatchTakesItsGraph) {
  const int32_t sizes[] = {16, 32};
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "aiter_mha";
  config.decode_threshold = 4;
  config.max_num_seqs = 16;
  config.max_num_batched_tokens = 64;
  config.max_model_len = 4096;
  config.graph_full = {sizes, 2};
  Error error;
  const Planner planner = property::create_planner(config, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  int32_t lengths[8];
  ASSERT_EQ(attnplan_capture_query_lens(32, 8, lengths, nullptr), ATTNPLAN_OK);
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = lengths;
  step.seq_lens = lengths;
  step.num_reqs = 8;
  step.phase = ATTNPLAN_PHASE_CAPTURE;
  const Scratch scratch = property::create_scratch();
  const Buffer plan = property::build(planner.get(), scratch.get(), step, nullptr, &error);
  ASSERT_GT(plan.size(), 0u) << error.raw().message;
  EXPECT_EQ(property::header_of(plan).graph_kind, ATTNPLAN_GRAPH_FULL);
  EXPECT_EQ(property::header_of(plan).graph_rows, 32);
  EXPECT_EQ(property::header_of(plan).graph_requests, 8);
}

}  // namespace
}  // namespace attnplan::plan
