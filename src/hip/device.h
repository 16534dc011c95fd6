// What a planner and an engine want to know about a GPU.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"

namespace attnplan::hip {

// Errors: no driver, no such device, or none that this build has code for.
Status describe_device(int32_t ordinal, attnplan_hip_device_info* device, Error* error);

}  // namespace attnplan::hip
