// The work list `stream_k`: one contiguous share of all KV per worker.
#pragma once

#include "planner/isa.h"
#include "planner/work_list.h"

namespace attnplan {

// From the spans of the list and their costs to where every worker begins, and the list's figures.
void cut_stream_k(const Isa& isa, int32_t heads, int32_t workers, bool causal, WorkList* list);

// The merge lists of a list that is cut.
void write_merge_tiles(const WorkCuts& cuts, attnplan_merge_tile* out);
void write_merge_indptr(const WorkCuts& cuts, int32_t* out);

}  // namespace attnplan
