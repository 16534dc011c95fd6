// Lays the plan out as one relocatable blob and fills it. One code path counts and writes.
#pragma once

#include <cstddef>

#include "attnplan/planner.h"
#include "attnplan_plan_format.h"
#include "planner/lanes.h"
#include "planner/scratch.h"

namespace attnplan {

struct Plan {
  attnplan_plan_header header{};  // all but the sizes and the section table
  const Lanes* lanes = nullptr;
  const Scratch::Buffers* parts = nullptr;  // segments, refusals, warnings
  uint64_t sections = 0;                    // bits 1 << ATTNPLAN_SECTION_*
};

// BUFFER_TOO_SMALL leaves `out` untouched; out == nullptr only asks for *bytes.
Status write_plan(const Plan& plan, std::byte* out, size_t capacity, size_t* bytes, Error* error);

}  // namespace attnplan
