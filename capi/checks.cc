// Judgements: a plan from an untrusted place, a launch without a plan; and dummy batches.
#include "attnplan.h"
#include "convert.h"
#include "guard.h"
#include "handles.h"
#include "planner/dispatch.h"
#include "planner/verify.h"
#include "versioned.h"

using attnplan::Code;
using attnplan::Error;
using attnplan::Status;

namespace {

Status invalid(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
}

attnplan_status finish(Status status, const Error& error, attnplan_error* out) {
  if (status != Status::kOk) attnplan::fill_error(error, out);
  return static_cast<attnplan_status>(status);
}

attnplan::Dispatch to_dispatch(const attnplan_dispatch& d) {
  return {d.kernel,  d.req_begin,     d.req_end,       d.row_begin,
          d.row_end, d.max_query_len, d.max_seq_len,   static_cast<attnplan::Dtype>(d.label),
          d.k_pages, d.v_pages,       d.k_scale_pages, d.v_scale_pages};
}

}  // namespace

attnplan_status attnplan_plan_verify(const void* plan, size_t plan_bytes,
                                     const attnplan_planner* planner, attnplan_scratch* scratch,
                                     const attnplan_step* step, const attnplan_group* group,
                                     attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (step == nullptr && (scratch == nullptr || planner != nullptr)) {
      const attnplan::Planner* own = planner != nullptr ? planner->planner : nullptr;
      return attnplan::verify_structure(plan, plan_bytes, own, &error);
    }
    if (planner == nullptr || scratch == nullptr || step == nullptr) {
      return invalid(&error, "a step needs planner and scratch, a scratch needs a planner");
    }
    attnplan::Step own_step;
    attnplan::Group own_group;
    Status s = attnplan::to_step(step, &own_step, &error);
    if (s == Status::kOk) s = attnplan::to_group(group, &own_group, &error);
    if (s != Status::kOk) return s;
    return attnplan::verify_origin(*planner->planner, &scratch->scratch, own_step, own_group, plan,
                                   plan_bytes, &error);
  });
  return finish(status, error, error_out);
}

attnplan_status attnplan_dispatch_check(const attnplan_planner* planner, attnplan_scratch* scratch,
                                        const attnplan_step* step,
                                        const attnplan_dispatch* dispatch,
                                        attnplan_error* error_out) {
  Error error;
  const Status status = attnplan::guard(&error, [&] {
    if (planner == nullptr || scratch == nullptr) {
      return invalid(&error, "planner and scratch must be given");
    }
    attnplan::Step own_step;
    attnplan_dispatch copy;
    const attnplan_dispatch* given;
    Status s = attnplan::to_step(step, &own_step, &error);
    if (s == Status::kOk) {
      s = attnplan::read_struct(dispatch, &copy, &given, "attnplan_dispatch", &error);
    }
    if (s != Status::kOk) return s;
    return attnplan::check_dispatch(*planner->planner, own_step, to_dispatch(*given),
                                    &scratch->scratch, &error);
  });
  finish(status, error, error_out);
  if (status == Status::kPlanError) attnplan::fill_lists(scratch->scratch, error, error_out);
  return static_cast<attnplan_status>(status);
}

attnplan_status attnplan_capture_query_lens(int32_t num_tokens, int32_t num_reqs,
                                            int32_t* query_lens, attnplan_error* error_out) {
  Error error;
  if (num_tokens < 0 || num_reqs < 0 || (num_reqs == 0 && num_tokens > 0)) {
    error.set(Status::kPlanError, Code::kValueOutOfRange, -1, num_tokens, num_reqs,
              "%d rows cannot be split over %d requests", num_tokens, num_reqs);
    return finish(Status::kPlanError, error, error_out);
  }
  if (query_lens == nullptr && num_reqs > 0) {
    return finish(invalid(&error, "query_lens must be given"), error, error_out);
  }
  for (int32_t i = 0; i < num_reqs; ++i) {
    query_lens[i] = num_tokens / num_reqs + (i < num_tokens % num_reqs ? 1 : 0);
  }
  return ATTNPLAN_OK;
}
