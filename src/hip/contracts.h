// The kernels of one layer as contracts for a planner: profile `hip` narrowed down to what is known
// of the layer, so that a plan's segments can be launched as they are.
#pragma once

#include <cstddef>

#include "attnplan_types.h"
#include "hip/layer.h"

namespace attnplan::hip {

struct ContractList {
  const attnplan_contract* const* contracts;  // as long as the library is loaded
  size_t count;
};

ContractList layer_contracts(const Layer& layer);

}  // namespace attnplan::hip
