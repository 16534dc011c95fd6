// The step's lengths in one form, whichever form the engine gave.
#pragma once

#include "attnplan/planner.h"
#include "planner/isa.h"

namespace attnplan {

struct Lengths {
  const int32_t* query_lens = nullptr;  // [num_reqs]
  const int32_t* seq_lens = nullptr;    // [num_reqs]; clamped by the block table in a draft step
  bool starts_decrease = false;         // query_start_loc is invalid: query_lens may be nonsense
};

Lengths resolve_lengths(const Step& step, const Isa& isa, Scratch::Buffers& buffers);

}  // namespace attnplan
