// Routes a step under the planner's policy, and says what stands in the way where that fails.
#pragma once

#include "attnplan/planner.h"
#include "attnplan_plan_format.h"
#include "planner/lanes.h"
#include "planner/route.h"

namespace attnplan {

struct Resolution {
  // In effect: kDefault where D is empty or was admitted whole.
  Ragged policy = Ragged::kDefault;
  // Under auto, nanoseconds of demote, uniform_prefix and split_runs; -1: cannot be routed.
  int64_t costs[3] = {0, 0, 0};
};

// NO_ROUTE or NEED_EXACT_SEQ_LENS where requests are left without a kernel; then the refusals and
// the requests are in the scratch's failed lists, and the sentence says of each what is in the way.
Status resolve(const Planner::State& state, const RoutingInput& in, Ragged policy,
               Scratch::Buffers& buffers, Resolution* resolution, Error* error);

// The refusals that a segment carries, in profile order: those of kernels tried on exactly its
// requests, and where it took in part of D, the decode kernels' of the whole D.
void append_refusals(const RoutingInput& in, const RoutedSegment& segment,
                     const RoutingBuffers& routing, std::pmr::vector<uint32_t>* by_kernel,
                     std::pmr::vector<attnplan_refusal>* refusals);

}  // namespace attnplan
