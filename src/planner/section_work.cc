// The work list as sections.
#include <cstring>

#include "planner/sections.h"
#include "planner/work_list.h"

namespace attnplan {
namespace {

template <typename T>
int64_t count_of(const std::pmr::vector<T>& values) {
  return static_cast<int64_t>(values.size());
}

template <typename T>
void copy(const std::pmr::vector<T>& values, std::byte* out) {
  std::memcpy(out, values.data(), values.size() * sizeof(T));
}

}  // namespace

void describe_work(const Plan* plan, const Planner::State& state, SectionList* list) {
  if (state.config.work == Work::kNone) return;
  const Capacity& c = state.capacity;
  const WorkList* work = plan ? &plan->parts->work : nullptr;
  const int64_t workers = state.config.num_workers;
  // Under inexact lengths the list is a superset: kernels clamp KV ends to device lengths.
  const uint8_t validity =
      plan && plan->inexact != 0 ? ATTNPLAN_VALIDITY_BOUND : ATTNPLAN_VALIDITY_EXACT;
  const auto ints = [&](int32_t id, int64_t count, int64_t capacity) {
    list->add_ints(id, ATTNPLAN_EXTENT_OTHER, validity, count, count, capacity);
  };
  list->add_records<attnplan_work>(ATTNPLAN_SECTION_WORK, ATTNPLAN_TYPE_WORK, 1, 1);
  list->add_records<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS, ATTNPLAN_TYPE_WORK_ITEM,
                                        work ? count_of(work->items) : 0, c.work_items);
  list->last().validity = validity;
  ints(ATTNPLAN_SECTION_WORKER_INDPTR, workers + 1, workers + 1);
  list->add_records<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES, ATTNPLAN_TYPE_MERGE_TILE,
                                         work ? count_of(work->merge_tiles) : 0, c.merge_tiles);
  ints(ATTNPLAN_SECTION_MERGE_INDPTR, work ? count_of(work->merge_indptr) : 0, c.merge_tiles + 1);
  ints(ATTNPLAN_SECTION_MERGE_SLOTS, work ? count_of(work->merge_slots) : 0, c.merge_slots);
}

void write_work(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  const WorkList& work = plan.parts->work;
  switch (spec.id) {
    case ATTNPLAN_SECTION_WORK:
      std::memcpy(out, &work.summary, sizeof work.summary);
      return;
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

}  // namespace attnplan
