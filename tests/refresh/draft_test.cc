// Draft steps 2 to k on the simulated device: advance, refresh, and never the host.
#include <gtest/gtest.h>

#include <algorithm>

#include "hip/plan_refresh.h"
#include "kernel_args.h"
#include "same_plan.h"
#include "simt/launch.h"

namespace attnplan::refresh {
namespace {

constexpr int32_t kBlockSize = 16, kColumns = 5, kMost = kBlockSize * kColumns;

// One row for each request, pads among them; some are about to reach the end of their table.
Batch draft_batch(const Ints& seq_lens) {
  Batch batch;
  batch.profile = "unified";
  batch.kv_cache = attnplan_kv_cache ATTNPLAN_KV_CACHE_INIT;
  batch.kv_cache->num_blocks = 100;
  batch.kv_cache->block_size = kBlockSize;
  batch.kv_cache->page_size = 4;
  batch.kv_cache->flags = ATTNPLAN_KV_PACKED;
  batch.step.phase = ATTNPLAN_PHASE_DRAFT;
  batch.config.sliding_window = 9;
  batch.config.local_attention_chunk = 32;
  batch.config.context_parallel_world = 3;
  batch.config.work = ATTNPLAN_WORK_STREAM_K;
  batch.config.num_workers = 7;
  for (int32_t id = ATTNPLAN_SECTION_QUERY_START_LOC; id < ATTNPLAN_SECTION_WORK; ++id) {
    batch.config.sections |= uint64_t{1} << id;
  }
  batch.query = {1, 1, 0, 1, 1, 1};
  batch.seq_lens = seq_lens;
  batch.table.emplace();
  batch.table->columns = kColumns;
  batch.table->ids.emplace();
  for (int32_t i = 0; i < 6 * kColumns; ++i) batch.table->ids->push_back((i * 37 + 11) % 100);
  return batch;
}

Buffer plan_of(const Batch& batch) {
  const BatchStructs structs(batch);
  property::Error error;
  const auto planner = property::create_planner(structs.config(), &error);
  const auto scratch = property::create_scratch();
  Buffer plan =
      property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
  EXPECT_GT(plan.size(), 0u) << error.raw().message;
  return plan;
}

cpu::RefreshRules draft_rules() {
  cpu::RefreshRules rules;
  rules.draft = true;
  rules.packed = true;
  rules.block_size = kBlockSize;
  rules.page_size = 4;
  rules.max_model_len = kMost;
  rules.sliding_window = 9;
  rules.local_chunk = 32;
  rules.context_world = 3;
  rules.group = 16;
  return rules;
}

Ints longer(Ints seq_lens, int32_t by) {
  for (int32_t& seq_len : seq_lens) {
    if (seq_len > 0) seq_len = std::min(seq_len + by, kMost + 1);
  }
  return seq_lens;
}

TEST(DraftSteps, RunFromOnePlanOfTheLast) {
  constexpr int32_t kSteps = 6;
  const Ints first = {17, kMost - 3, 0, kMost - 1, kMost, 31};
  Buffer plan = plan_of(draft_batch(longer(first, kSteps)));
  const Batch batch = draft_batch(first);
  Dice as_given(0);
  Tensors tensors = tensors_of(batch, {}, &as_given);
  const KernelArgs args(tensors, draft_rules(), false);
  for (int32_t step = 1; step <= kSteps; ++step) {
    SCOPED_TRACE("draft step " + std::to_string(step));
    const hip::AdvanceArgs advance = {tensors.query_start_loc.data(), tensors.seq_lens.data(), 6,
                                      kMost};
    simt::launch(simt::options_for<hip::Gfx942>(1), 1, 64,
                 [&] { hip::draft_advance<hip::Gfx942>(advance); });
    const Batch truth = draft_batch(longer(first, step));
    ASSERT_EQ(tensors.seq_lens, *truth.seq_lens);
    EXPECT_EQ(launch_refresh({}, args.args, &plan), 0u);
    const Buffer expected = plan_of(truth);
    ASSERT_TRUE(same_shape(plan, expected));
    EXPECT_EQ(compare_sections(plan, expected), "");
    EXPECT_EQ(check_work(plan, plan, truth, draft_rules(), tensors), "");
  }
}

TEST(DraftSteps, AdvanceStopsOneBeyondTheModel) {
  const Ints starts = {0, 1, 2, 2, 3, 4};
  const auto run = [](const int32_t* query_start_loc, int32_t max_model_len) {
    Ints seq_lens = {5, 100, 7, 101, INT32_MAX};
    const hip::AdvanceArgs args = {query_start_loc, seq_lens.data(), 5, max_model_len};
    simt::launch(simt::options_for<hip::Sm90>(1), 2, 32,
                 [&] { hip::draft_advance<hip::Sm90>(args); });
    return seq_lens;
  };
  EXPECT_EQ(run(starts.data(), 100), (Ints{6, 101, 7, 101, INT32_MAX}));
  EXPECT_EQ(run(nullptr, 0), (Ints{6, 101, 8, 102, INT32_MAX}));
}

}  // namespace
}  // namespace attnplan::refresh
