// Whether a plan was made for the layer that is to run it: heads, head sizes, mask, window, cache.
#pragma once

#include "attnplan/error.h"
#include "hip/host_plan.h"
#include "hip/layer.h"

namespace attnplan::hip {

// PLAN_ERROR names both figures. Without a cache in the layer or in the plan only the model is
// compared.
Status check_plan_layer(const HostPlan& plan, const Layer& layer, Error* error);

}  // namespace attnplan::hip
