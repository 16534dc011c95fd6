// A reader that follows every index of a plan, as kernels and engines do, and complains before it
// would leave the list that it is in.
#pragma once

#include <string>

#include "library.h"

namespace attnplan::plan {

// Empty, or where the reader would have left the plan. The plan must have been opened by
// attnplan_plan_get_header.
std::string follow_plan(const property::Buffer& plan);

}  // namespace attnplan::plan
