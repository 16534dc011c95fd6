// Lays the plan out as one relocatable blob and fills it. One code path counts and writes.
#pragma once

#include <cstddef>

#include "planner/plan.h"

namespace attnplan {

// BUFFER_TOO_SMALL leaves `out` untouched, and so does CAPACITY_EXCEEDED (a section beyond a fixed
// layout, or all of them beyond max_sections_bytes); out == nullptr only asks for *bytes.
Status write_plan(const Plan& plan, std::byte* out, size_t capacity, size_t* bytes, Error* error);

// Sections of every plan of this planner.
int count_sections(const Planner::State& state);

// Bytes of the largest plan within the planner's limits, of which none may be missing.
size_t plan_bound(const Planner::State& state);

}  // namespace attnplan
