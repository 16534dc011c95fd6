// The work list: which worker attends which KV range of which output tile, and how the partial
// results are merged. docs/planning.md, "Work list".
#pragma once

#include "planner/plan.h"

namespace attnplan {

// Fills the scratch's work list under config.work. CAPACITY_EXCEEDED where its items alone, counted
// before any is made, pass what may be.
Status schedule(Plan* plan, Error* error);

struct WorkBounds {
  int64_t items = 0;
  int64_t merge_tiles = 0;
  int64_t merge_slots = 0;
};
// What no work list exceeds that has at most `tiles` tiles (over all KV heads) of `max_seq_len`.
WorkBounds work_bounds(const Config& config, int64_t tiles, int64_t max_seq_len);

}  // namespace attnplan
