// Reads every byte that a plan's accessors claim is there, from a block of exactly the plan's
// size, so that a sanitizer sees the first one that is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "attnplan.h"

namespace attnplan::plan {

// What is out of bounds, or an empty string. `planner` and `step` may be null: no explanation.
std::string read_blob(const uint8_t* plan, size_t bytes, const attnplan_planner* planner,
                      const attnplan_step* step);

}  // namespace attnplan::plan
