// Chunks of a fixed size: what a request gets does not depend on who else is in the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "check_work.h"

namespace attnplan::schedule {
namespace {

using property::Error;
using property::Planner;
using property::Scratch;

// An item without its place in the batch: no request, no slot number.
using Piece = std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, bool, uint32_t>;

std::vector<Piece> pieces_of(const WorkList& list, int32_t request) {
  std::vector<Piece> pieces;
  for (const attnplan_work_item& item : list.items) {
    const int32_t input =
        list.order.empty() ? item.request : list.order[static_cast<size_t>(item.request)];
    if (input != request) continue;
    pieces.emplace_back(item.kv_head, item.row_begin, item.row_end, item.kv_begin, item.kv_end,
                        item.slot >= 0, item.flags);
  }
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

property::Buffer plan(const attnplan_planner* planner, attnplan_scratch* scratch, WorkBatch* batch,
                      WorkList* list) {
  Error error;
  property::Buffer out = property::build(planner, scratch, batch->step(), nullptr, &error);
  EXPECT_EQ(read_work_list(out, list), "") << error.raw().message;
  return out;
}

TEST(FixedChunks, ARequestAloneIsARequestAmongOthers) {
  const Scratch scratch = property::create_scratch();
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Dice dice(seed);
    WorkBatch batch;
    make_planner(&dice, Size::kSmall, &batch);
    make_requests(&dice, Size::kSmall, &batch);
    batch.settings.work = ATTNPLAN_WORK_FIXED;
    batch.settings.work_fixed_tokens = dice.pick<int32_t>({32, 100, 128, 256});
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    ASSERT_TRUE(planner) << error.raw().message;
    WorkList together, alone;
    const property::Buffer all = plan(planner.get(), scratch.get(), &batch, &together);
    ASSERT_EQ(check_work(batch, together), "") << "seed " << seed << ": " << batch.words();
    const std::vector<int32_t> query = batch.query, seq = batch.seq;
    for (size_t i = 0; i < query.size(); ++i) {
      batch.query = {query[i]};
      batch.seq = {seq[i]};
      const property::Buffer one = plan(planner.get(), scratch.get(), &batch, &alone);
      ASSERT_EQ(pieces_of(alone, 0), pieces_of(together, static_cast<int32_t>(i)))
          << "seed " << seed << ", request " << i;
    }
  }
}

// The chunk is the one that was asked for, but for its last one.
TEST(FixedChunks, HaveTheSizeThatWasAskedFor) {
  WorkBatch batch;
  batch.settings.num_kv_heads = 1;
  batch.settings.num_q_heads = 8;
  batch.settings.work = ATTNPLAN_WORK_FIXED;
  batch.settings.work_fixed_tokens = 512;
  batch.settings.num_workers = 16;
  batch.add_kernel(ATTNPLAN_ROUTE_DECODE, {16, 128});
  batch.add_request(1, 5000);
  batch.add_request(1, 512);
  batch.add_request(1, 513);
  Error error;
  const Planner planner = property::create_planner(batch.config(), &error);
  ASSERT_TRUE(planner) << error.raw().message;
  const Scratch scratch = property::create_scratch();
  WorkList list;
  const property::Buffer buffer = plan(planner.get(), scratch.get(), &batch, &list);
  EXPECT_EQ(check_work(batch, list), "");
  EXPECT_EQ(list.work.policy, ATTNPLAN_WORK_LIST_FIXED);
  ASSERT_EQ(list.items.size(), 10u + 1u + 2u);
  int64_t full = 0;
  for (const attnplan_work_item& item : list.items) full += item.kv_end - item.kv_begin == 512;
  EXPECT_EQ(full, 9 + 1 + 1);
  EXPECT_EQ(list.work.num_slots, 12) << "the request of 512 tokens writes its own output";
}

// The workspace cannot be sized by limits of which one is missing.
TEST(FixedChunks, AMissingLimitBoundsNoSlots) {
  const Scratch scratch = property::create_scratch();
  for (int missing = 0; missing < 3; ++missing) {
    Dice dice(7);
    WorkBatch batch;
    make_planner(&dice, Size::kSmall, &batch);
    batch.settings.work = ATTNPLAN_WORK_FIXED;
    batch.settings.work_fixed_tokens = 32;
    batch.settings.max_num_seqs = missing == 0 ? 0 : 64;
    batch.settings.max_num_batched_tokens = missing == 1 ? 0 : 5000;
    batch.settings.max_model_len = missing == 2 ? 0 : 4000;
    batch.query = {1};
    batch.seq = {2000};
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    ASSERT_TRUE(planner) << error.raw().message;
    WorkList list;
    plan(planner.get(), scratch.get(), &batch, &list);
    EXPECT_EQ(list.work.max_slots, 0) << missing;
    EXPECT_GT(list.work.num_slots, 0) << missing;
  }
}

}  // namespace
}  // namespace attnplan::schedule
