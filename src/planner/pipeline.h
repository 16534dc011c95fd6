// validate -> classify -> order -> segment -> route -> measure -> schedule, for one planner.
#pragma once

#include "planner/plan.h"
#include "planner/step_scan.h"

namespace attnplan {

// Fills *plan, ready to be written. `scan` may hold the scan of the same step by another planner;
// what can be shared of it is used again.
Status make_plan(const Planner::State& state, const Step& step, const Group& group,
                 Scratch::Buffers& buffers, StepScan* scan, Plan* plan, Error* error);

}  // namespace attnplan
