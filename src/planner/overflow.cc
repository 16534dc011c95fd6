#include "planner/overflow.h"

#include "planner/write.h"

namespace attnplan {
namespace {

// As a configuration asks for it; sections that come along bear the name of the one that brings
// them.
const char* section_word(int32_t id) {
  switch (id) {
    case ATTNPLAN_SECTION_SEGMENTS:
      return "segments";
    case ATTNPLAN_SECTION_REFUSALS:
      return "refusals";
    case ATTNPLAN_SECTION_WARNINGS:
      return "warnings";
    case ATTNPLAN_SECTION_ORDER:
      return "order";
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      return "query_start_loc";
    case ATTNPLAN_SECTION_SEQ_LENS:
      return "seq_lens";
    case ATTNPLAN_SECTION_CONTEXT_LENS:
      return "context_lens";
    case ATTNPLAN_SECTION_ROW_REQUEST:
      return "row_request";
    case ATTNPLAN_SECTION_ROW_POSITION:
      return "row_position";
    case ATTNPLAN_SECTION_PAGE_INDPTR:
      return "page_indptr";
    case ATTNPLAN_SECTION_PAGE_INDICES:
      return "page_indices";
    case ATTNPLAN_SECTION_LAST_PAGE_LEN:
      return "last_page_len";
    case ATTNPLAN_SECTION_PAGE_TABLE:
      return "page_table";
    case ATTNPLAN_SECTION_SLOTS:
      return "slots";
    case ATTNPLAN_SECTION_LOCAL:
      return "local";
    case ATTNPLAN_SECTION_CONTEXT_PARALLEL:
      return "context_parallel";
    case ATTNPLAN_SECTION_LAUNCH:
      return "launch";
    default:
      return id < ATTNPLAN_SECTION_WINDOW  ? "chunks"
             : id < ATTNPLAN_SECTION_LOCAL ? "window"
                                           : "work";
  }
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
        section_word(spec.id), static_cast<long long>(spec.used),
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
