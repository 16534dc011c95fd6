#include "planner/verify.h"

#include <algorithm>
#include <cstring>

#include "attnplan/plan.h"
#include "planner/scratch.h"
#include "planner/verify_checks.h"

namespace attnplan {
namespace {

Status wrong(Error* error, const char* why, int64_t value = 0, int64_t limit = 0) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, value, limit,
                    "not the plan of this step: %s (%lld, limit %lld)", why,
                    static_cast<long long>(value), static_cast<long long>(limit));
}

// Not judged yet: extents are what the header claims.
Blob blob_of(const PlanView& view, const Planner::State* state) {
  const attnplan_plan_header& h = view.header();
  Blob blob{view, h, state, view.segments(), h.num_reqs, h.num_rows, h.num_reqs, h.num_rows};
  const bool graph = (h.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0;
  if (graph) blob.padded_rows = std::max<int64_t>(blob.rows, h.graph_rows);
  if (graph && h.graph_width > 0) {
    const int64_t begin = blob.segments.empty() ? 0 : blob.segments.front().req_begin;
    blob.padded_requests = std::max(blob.requests, begin + h.graph_requests);
  }
  return blob;
}

Status same_bytes(const PlanView& plan, const std::byte* given, const std::byte* made,
                  Error* error) {
  for (const attnplan_byte_range& range : plan.byte_ranges()) {
    const auto offset = static_cast<size_t>(range.offset);
    const auto bytes = static_cast<size_t>(range.bytes);
    if (std::memcmp(given + offset, made + offset, bytes) == 0) continue;
    const auto difference = std::mismatch(given + offset, given + offset + bytes, made + offset);
    return wrong(error, "it differs from the plan of this step at byte", difference.first - given,
                 static_cast<int64_t>(plan.header().total_bytes));
  }
  return Status::kOk;
}

}  // namespace

Status verify_structure(const void* plan, size_t plan_bytes, const Planner* planner, Error* error) {
  Checks checks(error);
  PlanView view;
  if (!check_front(plan, plan_bytes, &checks, &view)) return error->status;
  const attnplan_plan_header& h = view.header();
  if (planner != nullptr && h.planner_hash != planner->hash()) {
    checks.wrong({"header"}, "has the planner_hash of another planner");
    return error->status;
  }
  const Blob blob = blob_of(view, planner != nullptr ? &planner->state() : nullptr);
  const bool sound = check_header(blob, &checks) && check_segments(blob, &checks) &&
                     check_requests(blob, &checks) && check_pages(blob, &checks) &&
                     check_chunks(blob, &checks) && check_windows(blob, &checks) &&
                     check_work(blob, &checks);
  return sound ? Status::kOk : error->status;
}

Status verify_origin(const Planner& planner, Scratch* scratch, const Step& step, const Group& group,
                     const void* plan, size_t plan_bytes, Error* error) {
  Status status = verify_structure(plan, plan_bytes, &planner, error);
  if (status != Status::kOk) return status;
  PlanView view;
  PlanView::open(plan, plan_bytes, &view);
  size_t bytes = 0;
  status = planner.build(step, group, scratch, nullptr, 0, &bytes, error);
  if (status != Status::kOk) return status;
  if (bytes != view.header().total_bytes) {
    return wrong(error, "its size is not that of a plan of this step",
                 static_cast<int64_t>(view.header().total_bytes), static_cast<int64_t>(bytes));
  }
  std::byte* made = scratch->buffers().made_again.fit(bytes);
  status = planner.build(step, group, scratch, made, bytes, &bytes, error);
  if (status != Status::kOk) return status;
  const auto* own = reinterpret_cast<const attnplan_plan_header*>(made);
  if (view.header().step_hash != own->step_hash) return wrong(error, "it is of another step");
  PlanView made_view;
  PlanView::open(made, bytes, &made_view);
  return same_bytes(made_view, static_cast<const std::byte*>(plan), made, error);
}

}  // namespace attnplan
