// Cuts the context of extend segments into chunks that fit a workspace.
#pragma once

#include "planner/plan.h"

namespace attnplan {

// Fills parts->chunk_sets; CAPACITY_EXCEEDED where one page of context per request does not fit the
// workspace, or the lists are longer than an index reaches.
Status plan_chunks(Plan* plan, Error* error);

// How long the lists of all chunk sets are.
struct ChunkTotals {
  int64_t chunks = 0;
  int64_t starts = 0;  // of requests in chunks, and one more a chunk
  int64_t tokens = 0;
};
ChunkTotals chunk_totals(const Plan& plan);

// Tokens of chunk k of the request at a plan position.
inline int32_t chunk_len(const Plan& plan, int32_t position, int32_t chunk_tokens, int32_t k) {
  if (plan.lanes->query_lens[position] == 0) return 0;
  const int64_t left = plan.context_in_cache(position) - int64_t{chunk_tokens} * k;
  return static_cast<int32_t>(left <= 0 ? 0 : left < chunk_tokens ? left : chunk_tokens);
}

}  // namespace attnplan
