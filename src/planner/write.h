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

// Where no max_sections_bytes is given: far beyond what a step is copied with, and small enough for
// an absurd length to be refused before memory is taken for it.
inline constexpr int64_t kDefaultMaxBytes = int64_t{1} << 30;

// 0: unlimited, because a fixed layout is as large as its own limits make it.
inline int64_t max_plan_bytes(const Planner::State& state) {
  const int64_t given = state.config.limits.max_sections_bytes;
  return given > 0 || state.fixed_layout ? given : kDefaultMaxBytes;
}

// Bytes of the largest plan within the planner's limits, of which none may be missing.
size_t plan_bound(const Planner::State& state);

}  // namespace attnplan
