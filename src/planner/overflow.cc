#include "planner/overflow.h"

#include "planner/section_names.h"
#include "planner/write.h"

namespace attnplan {
namespace {

// As a configuration asks for it: sections that come along bear the name of the one that brings
// them.
const char* asked_name(int32_t id) {
  if (id >= ATTNPLAN_SECTION_WORK) return section_name(ATTNPLAN_SECTION_WORK);
  if (id > ATTNPLAN_SECTION_CHUNKS && id < ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST) {
    return section_name(ATTNPLAN_SECTION_CHUNKS);
  }
  if (id > ATTNPLAN_SECTION_WINDOW && id < ATTNPLAN_SECTION_LOCAL) {
    return section_name(ATTNPLAN_SECTION_WINDOW);
  }
  return section_name(id);
}

// Live requests, rows and exact lengths are within the limits by now. What can be too many are
// requests with pads among them, and tokens of requests whose length is only a bound.
const char* limit_to_raise(const Plan& plan) {
  return plan.lanes->n > plan.state->config.limits.max_num_seqs ? "max_num_seqs (pads count)"
                                                                : "max_model_len";
}

}  // namespace

Status check_capacities(const Plan& plan, SectionList& sections, Error* error) {
  for (const SectionSpec& spec : sections) {
    if (spec.used <= spec.capacity) continue;  // always, unless the layout is fixed
    return error->set(
        Status::kPlanError, Code::kCapacityExceeded, -1, spec.used, spec.capacity,
        "section %s takes %lld elements, the fixed layout has room for %lld: raise %s",
        asked_name(spec.id), static_cast<long long>(spec.used),
        static_cast<long long>(spec.capacity), limit_to_raise(plan));
  }
  const size_t total = sections.total_bytes();
  const int64_t limit = max_plan_bytes(*plan.state);
  if (limit > 0 && total > static_cast<size_t>(limit)) {
    return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, static_cast<int64_t>(total),
                      limit, "the plan takes %zu bytes, beyond max_sections_bytes %lld", total,
                      static_cast<long long>(limit));
  }
  return Status::kOk;
}

}  // namespace attnplan
