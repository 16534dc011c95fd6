// Cuts the context of extend segments into chunks that fit a workspace.
#pragma once

#include "planner/plan.h"

namespace attnplan {

// Fills parts->chunk_sets and chunk_totals; CAPACITY_EXCEEDED where one page of context per request
// does not fit the workspace, or the lists are longer than an index reaches.
Status plan_chunks(Plan* plan, Error* error);

// Tokens of chunk k of the request at a plan position.
inline int32_t chunk_len(const Plan& plan, int32_t position, int32_t chunk_tokens, int32_t k) {
  if (plan.lanes->query_lens[position] == 0) return 0;
  const int64_t left = plan.context_in_cache(position) - int64_t{chunk_tokens} * k;
  return static_cast<int32_t>(left <= 0 ? 0 : left < chunk_tokens ? left : chunk_tokens);
}

}  // namespace attnplan
