// Turns routed segments into the records and counts of a plan.
#pragma once

#include "planner/plan.h"
#include "planner/resolve.h"
#include "planner/step_scan.h"

namespace attnplan {

void assemble(const Planner::State& state, const Step& step, const Group& group,
              const StepScan& scan, const RoutingInput& routing, const Resolution& resolution,
              Scratch::Buffers& buffers, Plan* plan);

}  // namespace attnplan
