// Judges a plan that came from an untrusted place, and a launch that needs no plan.
#pragma once

#include <cstddef>

#include "attnplan/planner.h"

namespace attnplan {

// That no reader who follows the plan leaves it: docs/abi.md, "What a verified plan promises". With
// a planner also that it is one of its plans, and what only it knows: kernels, heads, graphs.
Status verify_structure(const void* plan, size_t plan_bytes, const Planner* planner, Error* error);

// That it is this planner's plan of this step: hashes, and the bytes of a plan made again.
Status verify_origin(const Planner& planner, Scratch* scratch, const Step& step, const Group& group,
                     const void* plan, size_t plan_bytes, Error* error);

}  // namespace attnplan
