// The request, or the figure of the group, that broke a contract: the one place that words reasons.
#pragma once

#include <cstdint>

#include "attnplan/planner.h"
#include "planner/lanes.h"
#include "planner/sentence.h"
#include "planner/state.h"

namespace attnplan {

// What a sentence about a refusal may draw on.
struct Evidence {
  const Planner::State& state;
  int32_t kernel;
  const Lanes& lanes;  // in plan order
  Range range;         // the kernel was refused for exactly these requests
};

struct Witness {
  Sentence text;         // a clause: "request 30 has 1 row, request 0 has 4"
  int32_t request = -1;  // of the step; -1 where the group or its cache is to blame
  int64_t value = 0;     // what was found
  int64_t limit = 0;     // what it was compared with; 0 where that is a list
};

Witness witness(const Evidence& evidence, Reason reason);

// "pa_decode_gluon refused: RAGGED, request 30 has 1 row, request 0 has 4".
void add_refusal(const Evidence& evidence, Reason reason, Sentence* sentence);

}  // namespace attnplan
