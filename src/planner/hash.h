// Identity of a planner and of a step: XXH3 over the values that can change a plan.
#pragma once

#include "attnplan/planner.h"
#include "planner/isa.h"

namespace attnplan {

// `lengths_add_up`: seq_lens were checked to be computed + query, so they add nothing.
uint64_t hash_step(const Step& step, bool lengths_add_up, const Isa& isa);
uint64_t hash_config(const Config& config, const Isa& isa);

}  // namespace attnplan
