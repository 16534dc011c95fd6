// What becomes of a plan on the device without the host's doing.
#pragma once

#include "hip/memory.h"
#include "hip/planning.h"
#include "hip/step.h"

namespace attnplan::hip_test {

// `next` copied over `before` as its byte ranges say, which leaves behind what they leave out. Both
// are of one planner with a fixed layout; else std::runtime_error.
void write_over(const Plan& before, const Plan& next, Buffer* plan);

// Requests without tokens in `truth` have none in the plan either, and their items no rows.
void take_tokens(const Plan& made, const Step& truth, Buffer* plan);

}  // namespace attnplan::hip_test
