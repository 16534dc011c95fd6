// Batches and planners at the edges of what a work list is cut from.
#include <gtest/gtest.h>

#include <functional>

#include "check_work.h"

namespace attnplan::schedule {
namespace {

using property::Buffer;
using property::Error;
using property::Planner;
using property::Scratch;

constexpr int32_t kPolicies[] = {ATTNPLAN_WORK_STREAM_K, ATTNPLAN_WORK_EQUAL_CHUNKS,
                                 ATTNPLAN_WORK_AUTO};

struct Shape {
  int32_t workers = 256;
  int32_t heads = 1;
  int32_t kv_tile = 128;
};

// Plans the requests under every policy and checks all that a list must be.
void check(const Shape& shape, const std::function<void(WorkBatch*)>& add_requests) {
  const Scratch scratch = property::create_scratch();
  for (const int32_t policy : kPolicies) {
    WorkBatch batch;
    batch.settings.num_workers = shape.workers;
    batch.settings.num_kv_heads = shape.heads;
    batch.settings.num_q_heads = 4 * shape.heads;
    batch.settings.decode_threshold = 4;
    batch.settings.work = policy;
    batch.add_kernel(ATTNPLAN_ROUTE_DECODE, {16, shape.kv_tile});
    batch.add_kernel(ATTNPLAN_ROUTE_EXTEND, {16, shape.kv_tile});
    add_requests(&batch);
    Error error;
    const Planner planner = property::create_planner(batch.config(), &error);
    ASSERT_TRUE(planner) << error.raw().message;
    const Buffer plan =
        property::build(planner.get(), scratch.get(), batch.step(), nullptr, &error);
    WorkList list;
    ASSERT_EQ(read_work_list(plan, &list), "") << error.raw().message;
    ASSERT_EQ(check_work(batch, list), "") << batch.words();
  }
}

// From far fewer tiles than workers to far more: the list is made in different ways.
constexpr int32_t kCounts[] = {1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 100, 300, 1500};

void add_decodes(Dice* dice, int32_t count, int32_t longest, WorkBatch* batch) {
  for (int32_t i = 0; i < count; ++i) {
    const int32_t query = dice->in32(1, 4);
    batch->add_request(query, query + dice->in32(1, longest));
  }
}

TEST(WorkShapes, KvTilesOfAnySize) {
  for (const int32_t kv_tile : {1, 7, 48, 96, 100, 128, 1000, 5000000}) {
    for (const int32_t count : kCounts) {
      Dice dice(static_cast<uint64_t>(kv_tile * 31 + count));
      check({.workers = 64, .kv_tile = kv_tile},
            [&](WorkBatch* batch) { add_decodes(&dice, count, 3000, batch); });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WorkShapes, WorkersOfAnyNumber) {
  for (const int32_t workers : {1, 2, 7, 15, 16, 17, 33, 256, 304, 1000}) {
    for (const int32_t count : kCounts) {
      Dice dice(static_cast<uint64_t>(workers * 29 + count));
      check({.workers = workers},
            [&](WorkBatch* batch) { add_decodes(&dice, count, 9000, batch); });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WorkShapes, HeadsOfAnyNumber) {
  for (int32_t heads = 1; heads <= 16; ++heads) {
    for (const int32_t count : {1, 5, 17, 64, 200}) {
      Dice dice(static_cast<uint64_t>(heads * 37 + count));
      check({.workers = 80, .heads = heads},
            [&](WorkBatch* batch) { add_decodes(&dice, count, 2000, batch); });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WorkShapes, MoreWorkersThanTokens) {
  for (const int32_t kv_tile : {1, 16}) {
    for (const int32_t count : {1, 2, 20}) {
      check({.workers = 2000, .heads = 2, .kv_tile = kv_tile}, [&](WorkBatch* batch) {
        for (int32_t i = 0; i < count; ++i) batch->add_request(1, 2 + i);
      });
    }
  }
}

// Decodes in front, then prompts that are several tiles each, and a pad in between: segments whose
// requests are one tile each stand beside those that need a record of their tiles.
TEST(WorkShapes, DecodesBesidePrompts) {
  for (const int32_t heads : {1, 3}) {
    for (const int32_t count : {1, 20, 90}) {
      Dice dice(static_cast<uint64_t>(count));
      check({.workers = 100, .heads = heads}, [&](WorkBatch* batch) {
        for (int32_t i = 0; i < count; ++i) batch->add_request(4, dice.in32(5, 4000));
        batch->add_request(0, 0);
        for (int32_t i = 0; i < count; ++i) {
          const int32_t query = dice.in32(5, 60);
          batch->add_request(query, query + dice.in32(0, 900));
        }
      });
    }
  }
}

TEST(WorkShapes, NothingButPads) {
  check({}, [](WorkBatch*) {});
  check({}, [](WorkBatch* batch) {
    for (int i = 0; i < 40; ++i) batch->add_request(0, 0);
  });
}

// Somebody must write the output of a request that sees nothing.
TEST(WorkShapes, RequestsWithoutKv) {
  for (const int32_t count : {1, 30, 500}) {
    for (const int32_t every : {1, 3}) {
      check({.workers = 50}, [&](WorkBatch* batch) {
        batch->settings.mask = ATTNPLAN_MASK_FULL;
        for (int32_t i = 0; i < count; ++i) batch->add_request(2, i % every == 0 ? 0 : 700 + i);
      });
    }
  }
}

// Sums of such lengths pass int32, and so do shares.
TEST(WorkShapes, LengthsNearTheEndOfInt32) {
  for (const int32_t workers : {1, 2, 3, 300}) {
    for (const int32_t count : {1, 9, 120, 500}) {
      check({.workers = workers, .heads = 2}, [&](WorkBatch* batch) {
        for (int32_t i = 0; i < count; ++i) {
          batch->add_request(1, i % 3 == 0 ? INT32_MAX - i : 4000000 + i);
        }
      });
    }
  }
}

// A list that could never be is refused before anything is made of it.
TEST(WorkShapes, AbsurdListsAreRefusedAtOnce) {
  const Scratch scratch = property::create_scratch();
  for (const int32_t policy : {ATTNPLAN_WORK_STREAM_K, ATTNPLAN_WORK_AUTO, ATTNPLAN_WORK_FIXED}) {
    for (const bool limited : {false, true}) {
      WorkBatch batch;
      batch.settings.work = policy;
      batch.settings.work_fixed_tokens = 1;
      batch.settings.num_kv_heads = limited ? 1 : 8;
      batch.settings.num_q_heads = 64 * batch.settings.num_kv_heads;
      if (limited) batch.settings.max_sections_bytes = 1 << 20;
      batch.add_kernel(ATTNPLAN_ROUTE_EXTEND, {64, 128});
      batch.add_request(1 << 30, 1 << 30);
      Error error;
      const Planner planner = property::create_planner(batch.config(), &error);
      ASSERT_TRUE(planner) << error.raw().message;
      size_t bytes = 0;
      EXPECT_EQ(attnplan_plan_size(planner.get(), scratch.get(), &batch.step(), nullptr, &bytes,
                                   error.get()),
                ATTNPLAN_PLAN_ERROR);
      EXPECT_EQ(error.raw().code, ATTNPLAN_CODE_CAPACITY_EXCEEDED) << error.raw().message;
    }
  }
}

// Few tiles, but 2^27 chunks of 16 tokens: 4 GiB of items.
TEST(WorkShapes, AbsurdlyManyChunksAreRefusedAtOnce) {
  WorkBatch batch;
  batch.settings.work = ATTNPLAN_WORK_FIXED;
  batch.settings.work_fixed_tokens = 1;
  batch.add_kernel(ATTNPLAN_ROUTE_EXTEND, {16, 16});
  batch.add_request(1, INT32_MAX);
  Error error;
  const Planner planner = property::create_planner(batch.config(), &error);
  ASSERT_TRUE(planner) << error.raw().message;
  const Scratch scratch = property::create_scratch();
  size_t bytes = 0;
  EXPECT_EQ(
      attnplan_plan_size(planner.get(), scratch.get(), &batch.step(), nullptr, &bytes, error.get()),
      ATTNPLAN_PLAN_ERROR);
  EXPECT_EQ(error.raw().code, ATTNPLAN_CODE_CAPACITY_EXCEEDED) << error.raw().message;
  EXPECT_EQ(error.raw().value, int64_t{1} << 27);
}

}  // namespace
}  // namespace attnplan::schedule
