// The work list of random planners and steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "check_work.h"

namespace attnplan::schedule {
namespace {

using property::Buffer;
using property::Error;
using property::Planner;
using property::Scratch;

std::string plan_and_check(WorkBatch* batch, attnplan_scratch* scratch, Buffer* plan,
                           WorkList* list) {
  Error error;
  const Planner planner = property::create_planner(batch->config(), &error);
  if (!planner) return std::string("no planner: ") + error.raw().message;
  *plan = property::build(planner.get(), scratch, batch->step(), nullptr, &error);
  if (plan->size() == 0) return std::string("no plan: ") + error.raw().message;
  const std::string wrong = read_work_list(*plan, list);
  return wrong.empty() ? check_work(*batch, *list) : wrong;
}

struct Tally {
  std::map<int32_t, int64_t> policies;
  int64_t items = 0, partials = 0, masked = 0, windowed = 0;

  void add(const WorkList& list) {
    ++policies[list.work.policy];
    items += static_cast<int64_t>(list.items.size());
    partials += list.work.num_slots;
    for (const attnplan_work_item& item : list.items) {
      masked += (item.flags & ATTNPLAN_ITEM_CAUSAL_MASK) != 0;
      windowed += (item.flags & ATTNPLAN_ITEM_WINDOW_MASK) != 0;
    }
  }
};

void check_random(Size size, uint64_t first_seed, int count, Tally* tally) {
  const Scratch scratch = property::create_scratch();
  int failures = 0;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    Dice dice(seed);
    WorkBatch batch;
    make_random(&dice, size, &batch);
    Buffer plan;
    WorkList list;
    const std::string wrong = plan_and_check(&batch, scratch.get(), &plan, &list);
    EXPECT_EQ(wrong, "") << "seed " << seed << ": " << batch.words();
    if (!wrong.empty() && ++failures == 12) return;
    if (wrong.empty()) tally->add(list);
  }
}

TEST(Work, SmallBatchesTokenByToken) {
  Tally tally;
  check_random(Size::kSmall, 1, 20000, &tally);
  EXPECT_GT(tally.policies[ATTNPLAN_WORK_LIST_STREAM_K], 1000);
  EXPECT_GT(tally.policies[ATTNPLAN_WORK_LIST_EQUAL_CHUNKS], 1000);
  EXPECT_GT(tally.policies[ATTNPLAN_WORK_LIST_FIXED], 1000);
  EXPECT_GT(tally.items, 100000);
  EXPECT_GT(tally.partials, 10000);
  EXPECT_GT(tally.masked, 1000);
  EXPECT_GT(tally.windowed, 1000);
}

TEST(Work, LargeBatches) {
  Tally tally;
  check_random(Size::kLarge, 1000001, 500, &tally);
  EXPECT_GT(tally.partials, 10000);
}

// Limits that the step just fits.
void limit(Dice* dice, WorkBatch* batch) {
  const int64_t rows = std::accumulate(batch->query.begin(), batch->query.end(), int64_t{0});
  const int32_t n = static_cast<int32_t>(batch->query.size());
  int32_t longest = 1;
  for (size_t i = 0; i < batch->seq.size(); ++i) longest = std::max(longest, batch->seq[i]);
  batch->settings.max_num_seqs = std::max(1, n) + dice->in32(0, 2);
  batch->settings.max_num_batched_tokens =
      static_cast<int32_t>(std::max<int64_t>(1, rows)) + dice->in32(0, 20);
  batch->settings.max_model_len = longest + dice->in32(0, 100);
}

TEST(Work, StaysWithinTheStaticBounds) {
  const Scratch scratch = property::create_scratch();
  for (uint64_t seed = 2000001; seed <= 2004000; ++seed) {
    Dice dice(seed);
    WorkBatch batch;
    make_random(&dice, seed % 16 == 0 ? Size::kLarge : Size::kSmall, &batch);
    limit(&dice, &batch);
    Buffer plan;
    WorkList list;
    ASSERT_EQ(plan_and_check(&batch, scratch.get(), &plan, &list), "")
        << "seed " << seed << ": " << batch.words();
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    size_t bound = 0;
    ASSERT_EQ(attnplan_plan_bound(planner.get(), &bound, nullptr), ATTNPLAN_OK);
    ASSERT_LE(plan.size(), bound) << "seed " << seed << ": " << batch.words();
  }
}

// What sizes the workspace does not follow the batch.
TEST(Work, MaxSlotsIsThePlannersAlone) {
  const Scratch scratch = property::create_scratch();
  for (uint64_t seed = 3000001; seed <= 3001000; ++seed) {
    Dice dice(seed);
    WorkBatch batch;
    make_random(&dice, Size::kSmall, &batch);
    batch.settings.max_num_seqs = 64;
    batch.settings.max_num_batched_tokens = 5000;
    batch.settings.max_model_len = 1000;
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    ASSERT_TRUE(planner);
    int32_t max_slots = -1;
    for (int round = 0; round < 4; ++round) {
      const Buffer plan =
          property::build(planner.get(), scratch.get(), batch.step(), nullptr, &error);
      WorkList list;
      ASSERT_EQ(read_work_list(plan, &list), "") << batch.words();
      if (max_slots == -1) max_slots = list.work.max_slots;
      ASSERT_EQ(list.work.max_slots, max_slots) << "seed " << seed << ": " << batch.words();
      make_requests(&dice, Size::kSmall, &batch);
      batch.is_prefilling.clear();
      batch.seq_len_exact.clear();
    }
  }
}

TEST(Work, TheSameInputsGiveTheSameBytes) {
  const Scratch used = property::create_scratch();
  for (uint64_t seed = 4000001; seed <= 4001500; ++seed) {
    Dice dice(seed);
    WorkBatch batch;
    make_random(&dice, Size::kSmall, &batch);
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    ASSERT_TRUE(planner);
    const Scratch fresh = property::create_scratch();
    const Buffer first = property::build(planner.get(), fresh.get(), batch.step(), nullptr, &error);
    const Buffer second = property::build(planner.get(), used.get(), batch.step(), nullptr, &error);
    ASSERT_GT(first.size(), 0u);
    ASSERT_TRUE(first == second) << "seed " << seed << ": " << batch.words();
  }
}

}  // namespace
}  // namespace attnplan::schedule
