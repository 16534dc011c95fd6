// Turns routed segments into the records and counts of a plan.
#pragma once

#include "planner/route.h"
#include "planner/state.h"
#include "planner/write.h"

namespace attnplan {

Plan assemble(const Planner::State& state, const Step& step, const RoutingInput& routing,
              Ragged policy, Scratch::Buffers& buffers);

}  // namespace attnplan
