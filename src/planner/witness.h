// The request, or the figure of the group, that broke a contract.
#pragma once

#include <cstdint>
#include <string>

#include "attnplan/planner.h"
#include "planner/lanes.h"

namespace attnplan {

// What a sentence about a refusal may draw on.
struct Evidence {
  const Planner& planner;
  int32_t kernel;
  const Lanes& lanes;  // in plan order
  Range range;         // the kernel was refused for exactly these requests
};

// One clause without a full stop: "request 30 has 1 row, request 0 has 4".
std::string witness(const Evidence& evidence, Reason reason);

}  // namespace attnplan
