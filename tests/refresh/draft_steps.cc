#include "draft_steps.h"

#include <algorithm>

#include "same_plan.h"

namespace attnplan::refresh {
namespace {

Ints draw_lengths(uint64_t seed) {
  Dice dice(seed);
  Ints first(static_cast<size_t>(dice.in(1, 90)));
  for (int32_t& length : first) {
    const int32_t near = DraftSteps::kMost - dice.in32(0, DraftSteps::kSteps);
    length = dice.percent(15)   ? 0
             : dice.percent(25) ? near
                                : dice.in32(1, DraftSteps::kMost - DraftSteps::kSteps);
  }
  return first;
}

}  // namespace

DraftSteps::DraftSteps(const Ints& first) : first_(first) {}
DraftSteps::DraftSteps(uint64_t seed) : first_(draw_lengths(seed)) {}

Ints DraftSteps::lengths(int32_t step) const {
  Ints out = first_;
  for (int32_t& length : out) {
    if (length > 0) length = std::min(length + step, kMost + 1);
  }
  return out;
}

Batch DraftSteps::batch(int32_t step) const {
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
  for (const int32_t length : first_) batch.query.push_back(length > 0 ? 1 : 0);
  batch.seq_lens = lengths(step);
  batch.table.emplace();
  batch.table->columns = kColumns;
  batch.table->ids.emplace();
  for (int32_t i = 0; i < requests() * kColumns; ++i) {
    batch.table->ids->push_back((i * 37 + 11) % 100);
  }
  return batch;
}

Buffer DraftSteps::plan(int32_t step) const {
  const Batch planned = batch(step);
  const BatchStructs structs(planned);
  property::Error error;
  const auto planner = property::create_planner(structs.config(), &error);
  if (!planner) return Buffer();
  const auto scratch = property::create_scratch();
  return property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
}

Tensors DraftSteps::tensors() const {
  Dice as_given(0);
  return tensors_of(batch(0), {}, &as_given);
}

cpu::RefreshRules DraftSteps::rules() const {
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

std::string judge_draft_step(const DraftSteps& steps, const Buffer& refreshed, int32_t step) {
  const Buffer expected = steps.plan(step);
  if (expected.size() == 0) return "the planner refuses the step";
  if (!same_shape(refreshed, expected)) return "a plan of another shape";
  const std::string wrong = compare_sections(refreshed, expected);
  if (!wrong.empty()) return wrong;
  return check_work(refreshed, refreshed, steps.batch(step), steps.rules(), steps.tensors());
}

}  // namespace attnplan::refresh
