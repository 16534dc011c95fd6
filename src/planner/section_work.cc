// The work list as sections.
#include <cstring>
#include <numeric>

#include "planner/sections.h"
#include "planner/work_list.h"
#include "planner/work_stream_k.h"

namespace attnplan {
namespace {

struct Counts {
  int64_t items = 0;
  int64_t merge_tiles = 0;
  int64_t merge_slots = 0;
};

Counts counts_of(const WorkList& work) {
  const WorkCuts& cuts = work.cuts;
  if (work.is_cut) {
    return {int64_t{cuts.num_tiles} + cuts.num_splits, cuts.num_merges,
            int64_t{cuts.num_splits} + cuts.num_merges};
  }
  const auto count = [](const auto& values) { return static_cast<int64_t>(values.size()); };
  return {count(work.items), count(work.merge_tiles), count(work.merge_slots)};
}

template <typename T>
void copy(const std::pmr::vector<T>& values, std::byte* out) {
  std::memcpy(out, values.data(), values.size() * sizeof(T));
}

void write_built(const WorkList& work, int32_t section, std::byte* out) {
  switch (section) {
    case ATTNPLAN_SECTION_WORK_ITEMS:
      return copy(work.items, out);
    case ATTNPLAN_SECTION_WORKER_INDPTR:
      return copy(work.worker_indptr, out);
    case ATTNPLAN_SECTION_MERGE_TILES:
      return copy(work.merge_tiles, out);
    case ATTNPLAN_SECTION_MERGE_INDPTR:
      return copy(work.merge_indptr, out);
    case ATTNPLAN_SECTION_MERGE_SLOTS:
      return copy(work.merge_slots, out);
  }
}

void write_cut(const WorkCuts& cuts, const Isa& isa, int32_t section, std::byte* out) {
  auto* ints = reinterpret_cast<int32_t*>(out);
  switch (section) {
    case ATTNPLAN_SECTION_WORK_ITEMS:
      return isa.write_items(cuts, reinterpret_cast<attnplan_work_item*>(out));
    case ATTNPLAN_SECTION_WORKER_INDPTR:
      std::memcpy(out, cuts.items, (static_cast<size_t>(cuts.workers) + 1) * sizeof(int32_t));
      return;
    case ATTNPLAN_SECTION_MERGE_TILES:
      return write_merge_tiles(cuts, reinterpret_cast<attnplan_merge_tile*>(out));
    case ATTNPLAN_SECTION_MERGE_INDPTR:
      return write_merge_indptr(cuts, ints);
    case ATTNPLAN_SECTION_MERGE_SLOTS:  // tile by tile, in KV order: as they are numbered
      std::iota(ints, ints + cuts.num_splits + cuts.num_merges, 0);
      return;
  }
}

}  // namespace

void describe_work(const Plan* plan, const Planner::State& state, SectionList* list) {
  if (state.config.work == Work::kNone) return;
  const Capacity& c = state.capacity;
  const Counts counts = plan ? counts_of(plan->parts->work) : Counts{};
  const int64_t workers = state.config.num_workers;
  // Under inexact lengths the list is a superset: kernels clamp KV ends to device lengths.
  const uint8_t validity =
      plan && plan->inexact != 0 ? ATTNPLAN_VALIDITY_BOUND : ATTNPLAN_VALIDITY_EXACT;
  const auto ints = [&](int32_t id, int64_t count, int64_t capacity) {
    list->add_ints(id, ATTNPLAN_EXTENT_OTHER, validity, count, count, capacity);
  };
  list->add_records<attnplan_work>(ATTNPLAN_SECTION_WORK, ATTNPLAN_TYPE_WORK, 1, 1);
  list->add_records<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS, ATTNPLAN_TYPE_WORK_ITEM,
                                        counts.items, c.work_items);
  list->last().validity = validity;
  ints(ATTNPLAN_SECTION_WORKER_INDPTR, workers + 1, workers + 1);
  list->add_records<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES, ATTNPLAN_TYPE_MERGE_TILE,
                                         counts.merge_tiles, c.merge_tiles);
  ints(ATTNPLAN_SECTION_MERGE_INDPTR, plan ? counts.merge_tiles + 1 : 0, c.merge_tiles + 1);
  ints(ATTNPLAN_SECTION_MERGE_SLOTS, counts.merge_slots, c.merge_slots);
}

void write_work(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  const WorkList& work = plan.parts->work;
  if (spec.id == ATTNPLAN_SECTION_WORK) {
    std::memcpy(out, &work.summary, sizeof work.summary);
  } else if (work.is_cut) {
    write_cut(work.cuts, *plan.state->isa, spec.id, out);
  } else {
    write_built(work, spec.id, out);
  }
}

}  // namespace attnplan
