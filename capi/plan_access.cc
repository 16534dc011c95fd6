// Reading a plan through the C ABI.
#include <cstring>
#include <string>

#include "attnplan.h"
#include "attnplan/plan.h"
#include "convert.h"
#include "guard.h"
#include "handles.h"
#include "planner/explain.h"
#include "versioned.h"

using attnplan::Code;
using attnplan::Error;
using attnplan::PlanView;
using attnplan::Status;

namespace {

Status invalid(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
}

attnplan_status finish(Status status, const Error& error, attnplan_error* out) {
  if (status != Status::kOk) attnplan::fill_error(error, out);
  return static_cast<attnplan_status>(status);
}

Status open_plan(const void* plan, size_t plan_bytes, PlanView* view, Error* error) {
  if (PlanView::open(plan, plan_bytes, view)) return Status::kOk;
  return invalid(error, "these bytes are no plan of this version");
}

Status find_section(const void* plan, size_t plan_bytes, int32_t section,
                    attnplan_section_view* out, Error* error) {
  if (out == nullptr) return invalid(error, "view must be given");
  PlanView view;
  if (const Status status = open_plan(plan, plan_bytes, &view, error); status != Status::kOk) {
    return status;
  }
  const attnplan_section* found = view.find(section);
  if (found == nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, section, 0,
                      "the plan has no section %d: ask for it when the planner is created",
                      section);
  }
  attnplan_section_view result = ATTNPLAN_SECTION_VIEW_INIT;
  result.data = found->capacity > 0 ? view.data(*found) : nullptr;
  result.count = found->count;
  result.capacity = found->capacity;
  result.type = found->type;
  result.extent = found->extent;
  result.validity = found->validity;
  return attnplan::write_struct(result, out, "attnplan_section_view", error);
}

// Final routes in the step's order; a segment's pads stay pads.
Status find_routes(const PlanView& view, const attnplan::Step& step, int32_t* routes,
                   Error* error) {
  if (view.header().num_reqs != step.num_reqs) {
    return invalid(error, "the plan is of a step with another number of requests");
  }
  const auto order = view.order();
  std::memset(routes, 0, static_cast<size_t>(step.num_reqs) * sizeof(int32_t));
  for (const attnplan_segment& segment : view.segments()) {
    if (segment.req_begin < 0 || segment.req_end > step.num_reqs) {
      return invalid(error, "a segment of the plan lies outside the step");
    }
    for (int32_t position = segment.req_begin; position < segment.req_end; ++position) {
      const int32_t i = order.empty() ? position : order[static_cast<size_t>(position)];
      if (i < 0 || i >= step.num_reqs) return invalid(error, "the plan's order is broken");
      const int32_t query_len = step.query_lens != nullptr
                                    ? step.query_lens[i]
                                    : step.query_start_loc[i + 1] - step.query_start_loc[i];
      if (query_len > 0) routes[i] = segment.route;
    }
  }
  return Status::kOk;
}

}  // namespace

const attnplan_plan_header* attnplan_plan_get_header(const void* plan, size_t plan_bytes) {
  PlanView view;
  return PlanView::open(plan, plan_bytes, &view) ? &view.header() : nullptr;
}

const attnplan_segment* attnplan_plan_get_segments(const void* plan, size_t plan_bytes) {
  PlanView view;
  if (!PlanView::open(plan, plan_bytes, &view) || view.segments().empty()) return nullptr;
  return view.segments().data();
}

attnplan_status attnplan_plan_get_section(const void* plan, size_t plan_bytes, int32_t section,
                                          attnplan_section_view* view, attnplan_error* error_out) {
  Error error;
  return finish(find_section(plan, plan_bytes, section, view, &error), error, error_out);
}

attnplan_status attnplan_plan_get_routes(const void* plan, size_t plan_bytes,
                                         const attnplan_step* step, int32_t* routes,
                                         attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    PlanView view;
    attnplan::Step own_step;
    Status s = open_plan(plan, plan_bytes, &view, &error);
    if (s == Status::kOk) s = attnplan::to_step(step, &own_step, &error);
    if (s != Status::kOk) return s;
    if (routes == nullptr && own_step.num_reqs > 0) return invalid(&error, "routes must be given");
    return own_step.num_reqs > 0 ? find_routes(view, own_step, routes, &error) : Status::kOk;
  });
  return finish(status, error, error_out);
}

attnplan_status attnplan_plan_explain(const attnplan_planner* planner, const attnplan_step* step,
                                      const void* plan, size_t plan_bytes, char* text,
                                      size_t* bytes, attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (planner == nullptr || bytes == nullptr) {
      return invalid(&error, "planner and bytes must be given");
    }
    PlanView view;
    attnplan::Step own_step;
    Status s = open_plan(plan, plan_bytes, &view, &error);
    if (s == Status::kOk) s = attnplan::to_step(step, &own_step, &error);
    if (s != Status::kOk) return s;
    if (view.header().planner_hash != planner->planner->hash()) {
      return invalid(&error, "the plan is not of this planner");
    }
    std::string explained;
    s = attnplan::explain(
        *planner->planner, own_step,
        {&view.header(), view.segments(), view.refusals(), view.warnings(), view.order()},
        &explained, &error);
    if (s != Status::kOk) return s;
    const size_t needed = explained.size() + 1;
    if (text != nullptr && *bytes < needed) {
      return error.set(Status::kBufferTooSmall, Code::kNone, -1, static_cast<int64_t>(needed),
                       static_cast<int64_t>(*bytes), "the text takes %zu bytes", needed);
    }
    if (text != nullptr) std::memcpy(text, explained.c_str(), needed);
    *bytes = needed;
    return Status::kOk;
  });
  return finish(status, error, error_out);
}
