// Several KV groups, one step.
#include <cstdint>

#include "attnplan.h"
#include "attnplan/planner.h"
#include "convert.h"
#include "guard.h"
#include "handles.h"

using attnplan::Code;
using attnplan::Error;
using attnplan::Status;

namespace {

Status invalid(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s", why);
}

// The converted arguments, in the scratch so that a repeated call allocates nothing.
Status convert(const attnplan_planner* const* planners, size_t count,
               const attnplan_group* const* groups, void* const* buffers, const size_t* capacities,
               attnplan::ManyArguments* many, size_t* at, Error* error) {
  many->clear();
  for (size_t i = 0; i < count; ++i) {
    *at = i;
    if (planners[i] == nullptr) return invalid(error, "a planner is NULL");
    if (buffers[i] == nullptr ||
        reinterpret_cast<uintptr_t>(buffers[i]) % ATTNPLAN_PLAN_ALIGNMENT != 0) {
      return invalid(error, "each buffer must be given and 64-byte aligned");
    }
    attnplan::Group group;
    if (groups != nullptr) {
      const Status status = attnplan::to_group(groups[i], &group, error);
      if (status != Status::kOk) return status;
    }
    many->planners.push_back(planners[i]->planner);
    many->groups.push_back(group);
    many->outputs.push_back({static_cast<std::byte*>(buffers[i]), capacities[i]});
    many->bytes.push_back(0);
  }
  return Status::kOk;
}

}  // namespace

attnplan_status attnplan_plan_build_many(const attnplan_planner* const* planners, size_t count,
                                         attnplan_scratch* scratch, const attnplan_step* step,
                                         const attnplan_group* const* groups, void* const* buffers,
                                         const size_t* capacities, size_t* bytes, size_t* failed,
                                         attnplan_error* error_out) {
  Error error;
  size_t at = 0;
  const Status status = attnplan::guard(&error, [&] {
    if (scratch == nullptr || (count > 0 && (planners == nullptr || buffers == nullptr ||
                                             capacities == nullptr || bytes == nullptr))) {
      return invalid(&error, "planners, scratch, buffers, capacities and bytes must be given");
    }
    attnplan::Step own_step;
    attnplan::ManyArguments& many = scratch->many;
    Status s = attnplan::to_step(step, &own_step, &error);
    if (s == Status::kOk) {
      s = convert(planners, count, groups, buffers, capacities, &many, &at, &error);
    }
    if (s != Status::kOk) return s;
    return attnplan::Planner::build_many(many.planners, own_step, many.groups, &scratch->scratch,
                                         many.outputs, many.bytes.data(), &at, &error);
  });
  if (status == Status::kOk) {
    for (size_t i = 0; i < count; ++i) bytes[i] = scratch->many.bytes[i];
    return ATTNPLAN_OK;
  }
  if (failed != nullptr) *failed = at;
  attnplan::fill_error(error, error_out);
  if (status == Status::kPlanError) attnplan::fill_lists(scratch->scratch, error, error_out);
  return static_cast<attnplan_status>(status);
}
