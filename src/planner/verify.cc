#include "planner/verify.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "attnplan/plan.h"
#include "planner/scratch.h"

namespace attnplan {
namespace {

Status wrong(Error* error, const char* why, int64_t value = 0, int64_t limit = 0) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, value, limit,
                    "not a sound plan: %s (%lld, limit %lld)", why, static_cast<long long>(value),
                    static_cast<long long>(limit));
}

// Sections of one id each, in ascending id and address, none over another.
Status check_sections(const PlanView& plan, Error* error) {
  int64_t end = plan.front_bytes();
  int32_t last_id = 0;
  for (const attnplan_section& s : plan.sections()) {
    if (s.id <= last_id) return wrong(error, "section ids do not ascend", s.id, last_id);
    last_id = s.id;
    if (s.capacity == 0) continue;
    if (s.offset < end) return wrong(error, "a section overlaps what stands before", s.id, end);
    end = s.offset + s.capacity * PlanView::element_bytes(s.type);
    if (s.validity > ATTNPLAN_VALIDITY_DEVICE) return wrong(error, "validity", s.validity, 2);
    if (s.extent > ATTNPLAN_EXTENT_PAGES) return wrong(error, "extent", s.extent, 3);
  }
  return Status::kOk;
}

Status check_segments(const PlanView& plan, Error* error) {
  const attnplan_plan_header& h = plan.header();
  const auto num_refusals = static_cast<int32_t>(plan.refusals().size());
  int32_t request = 0, row = 0, refusal = 0;
  for (const attnplan_segment& s : plan.segments()) {
    if (s.req_begin < request || s.req_end <= s.req_begin || s.req_end > h.num_reqs) {
      return wrong(error, "a segment's requests", s.req_begin, h.num_reqs);
    }
    if (s.row_begin != row || s.row_end <= row || s.row_end > h.num_rows) {
      return wrong(error, "a segment's rows", s.row_begin, h.num_rows);
    }
    if (s.route < static_cast<int32_t>(Route::kDecode) ||
        s.route > static_cast<int32_t>(Route::kPrefill)) {
      return wrong(error, "a segment's route", s.route, 3);
    }
    if (s.kernel < 0 || s.refusal_begin < refusal || s.refusal_end < s.refusal_begin ||
        s.refusal_end > num_refusals) {
      return wrong(error, "a segment's refusals", s.refusal_begin, num_refusals);
    }
    if (s.num_live < 1 || s.num_live > s.req_end - s.req_begin) {
      return wrong(error, "a segment's live requests", s.num_live, s.req_end - s.req_begin);
    }
    request = s.req_end;
    row = s.row_end;
    refusal = s.refusal_end;
  }
  return row == h.num_rows ? Status::kOk : wrong(error, "rows in no segment", row, h.num_rows);
}

Status check_order(const PlanView& plan, Error* error) {
  const attnplan_plan_header& h = plan.header();
  const bool sorted = (h.flags & ATTNPLAN_PLAN_SORTED) != 0;
  const auto order = plan.order();
  if (!sorted) return Status::kOk;
  if (order.size() != static_cast<size_t>(h.num_reqs)) {
    return wrong(error, "the order's length", static_cast<int64_t>(order.size()), h.num_reqs);
  }
  std::vector<bool> seen(order.size(), false);
  for (const int32_t request : order) {
    if (request < 0 || request >= h.num_reqs || seen[static_cast<size_t>(request)]) {
      return wrong(error, "the order is no permutation", request, h.num_reqs);
    }
    seen[static_cast<size_t>(request)] = true;
  }
  return Status::kOk;
}

// Lists that are indexed by another list's values.
Status check_indptr(const PlanView& plan, int32_t indptr_id, int32_t list_id, Error* error) {
  const attnplan_section* indptr = plan.find(indptr_id);
  const attnplan_section* list = plan.find(list_id);
  if (indptr == nullptr || list == nullptr || indptr->validity == ATTNPLAN_VALIDITY_DEVICE) {
    return Status::kOk;
  }
  int32_t last = 0;
  for (const int32_t value : plan.values<int32_t>(indptr_id)) {
    if (value < last || value > list->count) {
      return wrong(error, "an indptr leaves its list", value, list->count);
    }
    last = value;
  }
  return Status::kOk;
}

// Each header's own byte ranges lie inside the plan, in order.
Status check_ranges(const PlanView& plan, Error* error) {
  int64_t end = 0;
  for (const attnplan_byte_range& range : plan.byte_ranges()) {
    const auto total = static_cast<int64_t>(plan.header().total_bytes);
    if (range.offset < end || range.bytes < 0 || range.offset > total ||
        range.bytes > total - range.offset) {
      return wrong(error, "a byte range", range.offset, total);
    }
    end = range.offset + range.bytes;
  }
  return Status::kOk;
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

Status verify_structure(const void* plan, size_t plan_bytes, Error* error) {
  PlanView view;
  if (!PlanView::open(plan, plan_bytes, &view)) {
    return wrong(error, "magic, version, sizes or the section table are broken");
  }
  const attnplan_plan_header& h = view.header();
  if (h.num_reqs < 0 || h.num_rows < 0) return wrong(error, "negative counts", h.num_reqs, 0);
  Status status = check_ranges(view, error);
  if (status == Status::kOk) status = check_sections(view, error);
  if (status == Status::kOk) status = check_segments(view, error);
  if (status == Status::kOk) status = check_order(view, error);
  const std::array<std::array<int32_t, 2>, 3> lists = {
      {{ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_PAGE_INDICES},
       {ATTNPLAN_SECTION_WORKER_INDPTR, ATTNPLAN_SECTION_WORK_ITEMS},
       {ATTNPLAN_SECTION_MERGE_INDPTR, ATTNPLAN_SECTION_MERGE_SLOTS}}};
  for (const auto& list : lists) {
    if (status == Status::kOk) status = check_indptr(view, list[0], list[1], error);
  }
  return status;
}

Status verify_origin(const Planner& planner, Scratch* scratch, const Step& step, const Group& group,
                     const void* plan, size_t plan_bytes, Error* error) {
  Status status = verify_structure(plan, plan_bytes, error);
  if (status != Status::kOk) return status;
  PlanView view;
  PlanView::open(plan, plan_bytes, &view);
  if (view.header().planner_hash != planner.hash()) {
    return wrong(error, "it was made by another planner");
  }
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
