#include "planner/pipeline.h"

#include <algorithm>

#include "kv/block_table.h"
#include "planner/assemble.h"
#include "planner/chunks.h"
#include "planner/limits.h"
#include "planner/resolve.h"
#include "planner/schedule.h"
#include "planner/scratch.h"
#include "planner/segment.h"

namespace attnplan {
namespace {

Status check_slots_of(const Planner::State& state, const Step& step, const Group& group,
                      const StepScan& scan, Error* error) {
  if (!state.view || group.slot_mapping == nullptr) return Status::kOk;
  const BlockTableInput in{&group, &*state.config.kv_cache, scan.lengths.query_lens,
                           scan.lanes.cut ? scan.lanes.seq_lens : scan.lengths.seq_lens,
                           step.num_reqs};
  return check_slots(in, scan.lanes.rows, scan.lanes.cut, scan.lanes.context_lens, error);
}

// Width and ids of the block table, where the cache is known. A draft step is cut to its table
// instead; then the scan is no longer that of the step alone.
Status check_table(const Planner::State& state, const Step& step, const Group& group,
                   Scratch::Buffers& buffers, StepScan* scan, Error* error) {
  if (!state.view || !group.has_table()) return Status::kOk;
  const KvCache& cache = *state.config.kv_cache;
  if (group.tokens_per_id != 0 && group.tokens_per_id != cache.block_size) {
    return error->set(Status::kPlanError, Code::kPageSizeMismatch, -1, group.tokens_per_id,
                      cache.block_size,
                      "an id of the block table stands for %d tokens, a block of the cache has %d",
                      group.tokens_per_id, cache.block_size);
  }
  BlockTableInput in{&group, &cache, scan->lengths.query_lens, scan->lengths.seq_lens,
                     step.num_reqs};
  if (const Status status = check_indptr(in, error); status != Status::kOk) return status;
  if (step.phase == Phase::kDraft) {
    const auto n = static_cast<size_t>(step.num_reqs);
    int32_t* clamped = buffers.clamped_seq_lens.fit(n);
    uint8_t* marks = buffers.cut.fit(n);
    if (clamp_seq_lens(in, clamped, marks, &buffers.warnings)) {
      in.seq_lens = clamped;
      scan->lanes.seq_lens = clamped;
      scan->lanes.cut = marks;
    }
  } else if (scan->marks.all.max_seq_len > uniform_capacity(group, cache.block_size) ||
             group.block_indptr != nullptr) {
    if (const Status status = check_width(in, error); status != Status::kOk) return status;
  }
  return check_ids(in, *state.isa, error);
}

// A draft step cut to one group's table, or a scan that a table may still cut, is nobody else's.
bool can_share(const StepScan& scan, const Planner::State& state, const Step& step,
               const Group& group) {
  const bool may_cut = step.phase == Phase::kDraft && state.view.has_value() && group.has_table();
  return scan.ready && scan.step == &step && scan.key == scan_key(state.config) &&
         scan.lanes.cut == nullptr && !may_cut;
}

Status read_step(const Planner::State& state, const Step& step, const Group& group,
                 Scratch::Buffers& buffers, StepScan* scan, Error* error) {
  buffers.warnings.clear();
  if (can_share(*scan, state, step, group)) {
    const Status status = check_table(state, step, group, buffers, scan, error);
    return status != Status::kOk ? status : check_slots_of(state, step, group, *scan, error);
  }
  if (const Status status = scan_and_validate(state, step, buffers, scan, error);
      status != Status::kOk) {
    return status;
  }
  if (const Status status = check_table(state, step, group, buffers, scan, error);
      status != Status::kOk) {
    return status;
  }
  if (const Status status = check_slots_of(state, step, group, *scan, error);
      status != Status::kOk) {
    return status;
  }
  finish_scan(state, step, buffers, scan);
  return Status::kOk;
}

Status invalid(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
}

// Lists of single tokens are written on the device: beyond this the host would be the bottleneck.
constexpr int64_t kMaxSingleTokenPages = int64_t{1} << 20;

Status check_page_sections(const Plan& plan, Error* error) {
  const auto asked = [&plan](int32_t id) { return plan.asked(id); };
  const bool live = !plan.parts->segments.empty();
  const bool ids = plan.group->block_ids != nullptr;
  const bool table = asked(ATTNPLAN_SECTION_PAGE_INDICES) || asked(ATTNPLAN_SECTION_PAGE_TABLE);
  if (live && table && !ids) return invalid(error, "page sections need the ids of a block table");
  if (live && asked(ATTNPLAN_SECTION_SLOTS) && !ids && plan.group->slot_mapping == nullptr) {
    return invalid(error, "section slots needs a slot_mapping or the ids of a block table");
  }
  if (asked(ATTNPLAN_SECTION_PAGE_TABLE) && !plan.state->fixed_layout) {
    const int64_t width =
        widest_row(*plan.group, plan.lanes->n) * plan.state->view->pages_per_block;
    if (width > INT32_MAX) {
      return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, width, INT32_MAX,
                        "a row of the page table has %lld pages, expected at most %d",
                        static_cast<long long>(width), INT32_MAX);
    }
  }
  if (!asked(ATTNPLAN_SECTION_PAGE_INDICES) && !asked(ATTNPLAN_SECTION_PAGE_INDPTR)) {
    return Status::kOk;
  }
  const int64_t page_size = plan.state->view->page_size;
  const int64_t limit = page_size == 1 ? kMaxSingleTokenPages : INT32_MAX;
  int64_t pages = 0;
  for (int32_t i = 0; i < plan.lanes->n; ++i) {
    pages += (plan.max_seq_len(i) + page_size - 1) / page_size;
  }
  if (pages <= limit) return Status::kOk;
  return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, pages, limit,
                    "the page lists of page size %lld have %lld entries, the host writes at most "
                    "%lld",
                    static_cast<long long>(page_size), static_cast<long long>(pages),
                    static_cast<long long>(limit));
}

// What the sections are made from, beyond the segments.
Status prepare_sections(Plan* plan, Error* error) {
  const Config& config = plan->state->config;
  if (plan->state->view && config.sections != 0) {
    if (const Status status = check_page_sections(*plan, error); status != Status::kOk) {
      return status;
    }
  }
  if (plan->asked(ATTNPLAN_SECTION_CHUNKS) ||
      plan->asked(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST)) {
    if (const Status status = plan_chunks(plan, error); status != Status::kOk) return status;
  }
  return config.work != Work::kNone ? schedule(plan, error) : Status::kOk;
}

}  // namespace

Status make_plan(const Planner::State& state, const Step& step, const Group& group,
                 Scratch::Buffers& buffers, StepScan* scan, Plan* plan, Error* error) {
  Status status = read_step(state, step, group, buffers, scan, error);
  if (status != Status::kOk) return status;
  const RoutingInput routing{&state.kernels,
                             &scan->lanes,
                             state.isa,
                             &scan->marks,
                             segment(scan->lanes, scan->marks),
                             state.config.max_segments};
  Resolution resolution;
  status = resolve(state, routing, state.policy, buffers, &resolution, error);
  if (status != Status::kOk) return status;
  status = check_limits(state.config.limits, scan->lanes, buffers.routing.segments, error);
  if (status != Status::kOk) return status;
  assemble(state, step, group, *scan, routing, resolution, buffers, plan);
  return prepare_sections(plan, error);
}

}  // namespace attnplan
