// How long the longest worker is against the mean: the point of a work list.
#include <gtest/gtest.h>

#include <functional>

#include "check_work.h"

namespace attnplan::schedule {
namespace {

using property::Error;
using property::Planner;
using property::Scratch;

constexpr int kSeeds = 20;

// Longest over mean of the worst of some random batches.
double worst_ratio(int32_t work, const std::function<void(Dice*, WorkBatch*)>& add_requests) {
  const Scratch scratch = property::create_scratch();
  double worst = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Dice dice(seed);
    WorkBatch batch;
    batch.settings.num_kv_heads = 1;
    batch.settings.num_q_heads = 8;
    batch.settings.num_workers = 256;
    batch.settings.decode_threshold = 4;
    batch.settings.work = work;
    batch.add_kernel(ATTNPLAN_ROUTE_DECODE, {64, 128});
    batch.add_kernel(ATTNPLAN_ROUTE_EXTEND, {64, 128});
    add_requests(&dice, &batch);
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    EXPECT_TRUE(planner) << error.raw().message;
    const property::Buffer plan =
        property::build(planner.get(), scratch.get(), batch.step(), nullptr, &error);
    WorkList list;
    EXPECT_EQ(read_work_list(plan, &list), "") << error.raw().message;
    EXPECT_EQ(check_work(batch, list), "") << "seed " << seed;
    worst = std::max(worst, static_cast<double>(list.work.makespan) / list.work.mean);
  }
  return worst;
}

void add_random(Dice* dice, WorkBatch* batch, int count, int32_t query, int32_t longest) {
  for (int i = 0; i < count; ++i) batch->add_request(query, dice->in32(query + 1, longest));
}

class Balance : public testing::TestWithParam<int32_t> {};  // rows of a decode

TEST_P(Balance, SixtyFourRandom) {
  const double ratio = worst_ratio(ATTNPLAN_WORK_AUTO, [](Dice* dice, WorkBatch* batch) {
    add_random(dice, batch, 64, GetParam(), 32768);
  });
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_LE(ratio, 1.06);
  EXPECT_GE(ratio, 1.0);
}

TEST_P(Balance, TwoHundredFiftySixRandom) {
  const double ratio = worst_ratio(ATTNPLAN_WORK_AUTO, [](Dice* dice, WorkBatch* batch) {
    add_random(dice, batch, 256, GetParam(), 32768);
  });
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_LE(ratio, 1.06);
}

TEST_P(Balance, OneInSixteenLong) {
  const double ratio = worst_ratio(ATTNPLAN_WORK_AUTO, [](Dice* dice, WorkBatch* batch) {
    for (int i = 0; i < 256; ++i) {
      const bool is_long = i % 16 == 5;
      batch->add_request(GetParam(), is_long ? dice->in32(24000, 32768) : dice->in32(500, 2000));
    }
  });
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_LE(ratio, 1.06);
}

TEST_P(Balance, EightOfSixteenThousand) {
  const double ratio = worst_ratio(ATTNPLAN_WORK_AUTO, [](Dice*, WorkBatch* batch) {
    for (int i = 0; i < 8; ++i) batch->add_request(GetParam(), 16384);
  });
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_LE(ratio, 1.30);
}

INSTANTIATE_TEST_SUITE_P(Rows, Balance, testing::Values(1, 4));

// auto takes the shorter of the two, by the makespan that a plan reports.
TEST(WorkAuto, IsTheBetterOfStreamKAndEqualChunks) {
  const Scratch scratch = property::create_scratch();
  int stream_k = 0, equal = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    int64_t makespan[3];
    int32_t chosen = 0;
    for (int32_t work = ATTNPLAN_WORK_AUTO; work <= ATTNPLAN_WORK_EQUAL_CHUNKS; ++work) {
      Dice dice(seed);
      WorkBatch batch;
      make_random(&dice, Size::kSmall, &batch);
      batch.settings.work = work;
      Error error;
      const Planner planner = property::create_planner(batch.config(), &error);
      ASSERT_TRUE(planner);
      const property::Buffer plan =
          property::build(planner.get(), scratch.get(), batch.step(), nullptr, &error);
      WorkList list;
      ASSERT_EQ(read_work_list(plan, &list), "");
      makespan[work - ATTNPLAN_WORK_AUTO] = list.work.makespan;
      if (work == ATTNPLAN_WORK_AUTO) chosen = list.work.policy;
    }
    EXPECT_LE(makespan[0], std::min(makespan[1], makespan[2])) << "seed " << seed;
    (chosen == ATTNPLAN_WORK_LIST_STREAM_K ? stream_k : equal) += 1;
  }
  EXPECT_GT(stream_k, 50);
  EXPECT_GT(equal, 50);
}

}  // namespace
}  // namespace attnplan::schedule
