// CAPACITY_EXCEEDED: the last check, against what the engine was configured for.
#pragma once

#include "attnplan/planner.h"
#include "planner/lanes.h"
#include "planner/route.h"

namespace attnplan {

Status check_limits(const Limits& limits, const Lanes& lanes,
                    const std::pmr::vector<RoutedSegment>& segments, Error* error);

}  // namespace attnplan
