// Identity of a planner and of a step: XXH3 over the values that can change a plan.
#pragma once

#include "attnplan/planner.h"
#include "planner/isa.h"

namespace attnplan {

// `prints`: the scan's sums over the arrays of lengths.
uint64_t hash_step(const Step& step, const uint64_t (&prints)[3], const Isa& isa);
uint64_t hash_config(const Config& config, const Isa& isa);

}  // namespace attnplan
