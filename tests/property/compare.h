// Field by field: the naive planner's answer and the library's.
#pragma once

#include <string>

#include "batch.h"
#include "library.h"
#include "naive_plan.h"

namespace attnplan::property {

// The first difference, or an empty string. `planner` is null where it could not be created, and
// `plan` is empty where the step could not be planned; `error` then says why.
std::string first_difference(const oracle::NaivePlan& naive, const attnplan_config& config,
                             const attnplan_step& step, const attnplan_planner* planner,
                             const Buffer& plan, const Error& error);

}  // namespace attnplan::property
