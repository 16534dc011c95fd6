// Sections that every plan has: segments, refusals, warnings, and the order of a sorted one.
#include <cstring>

#include "planner/sections.h"

namespace attnplan {
namespace {

template <typename T>
void copy(const T* from, int64_t count, std::byte* out) {
  std::memcpy(out, from, static_cast<size_t>(count) * sizeof(T));
}

template <typename T>
int64_t size_of(const std::pmr::vector<T>& values) {
  return static_cast<int64_t>(values.size());
}

}  // namespace

void describe_records(const Plan* plan, const Planner::State& state, SectionList* list) {
  const Capacity& c = state.capacity;
  list->add_records<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS, ATTNPLAN_TYPE_SEGMENT,
                                      plan ? size_of(plan->parts->segments) : 0, c.segments);
  list->add_records<attnplan_refusal>(ATTNPLAN_SECTION_REFUSALS, ATTNPLAN_TYPE_REFUSAL,
                                      plan ? size_of(plan->parts->refusals) : 0, c.refusals);
  list->add_records<attnplan_warning>(ATTNPLAN_SECTION_WARNINGS, ATTNPLAN_TYPE_WARNING,
                                      plan ? size_of(plan->parts->warnings) : 0, c.warnings);
  if (state.config.order == Order::kSort) {
    const int64_t n = plan ? plan->lanes->n : 0;
    list->add_ints(ATTNPLAN_SECTION_ORDER, ATTNPLAN_EXTENT_REQUESTS, ATTNPLAN_VALIDITY_EXACT, n, n,
                   c.requests);
  }
}

void write_records(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  switch (spec.id) {
    case ATTNPLAN_SECTION_SEGMENTS:
      return copy(plan.parts->segments.data(), spec.count, out);
    case ATTNPLAN_SECTION_REFUSALS:
      return copy(plan.parts->refusals.data(), spec.count, out);
    case ATTNPLAN_SECTION_WARNINGS:
      return copy(plan.parts->warnings.data(), spec.count, out);
    default:
      return copy(plan.lanes->order, spec.count, out);
  }
}

}  // namespace attnplan
