// The output tiles of a plan: what a work list shares out.
#pragma once

#include "planner/plan.h"

namespace attnplan {

// Tiles of one KV head, counted without making any.
int64_t count_tiles(const Plan& plan);

// Fills tiles, tokens, spans and their costs. `all`: also those of segments whose requests are one
// tile each, which are plain in the step's own arrays.
void make_tiles(const Plan& plan, bool all, WorkList* list);

}  // namespace attnplan
