#include "planner/runs.h"

namespace attnplan {

int32_t run_end(const Kernel& kernel, const Lanes& lanes, int32_t begin, int32_t end,
                Exactness exactness, int32_t* num_live) {
  *num_live = 0;
  if (kernel.static_refusals != 0) return begin;
  const int32_t width = lanes.query_lens[begin];
  int32_t reached = begin;
  for (int32_t i = begin; i < end; ++i) {
    const int32_t query_len = lanes.query_lens[i];
    if (query_len == 0) {
      if (kernel.uniform) break;
      continue;
    }
    if (kernel.uniform && query_len != width) break;
    const bool inexact = lanes.inexact != nullptr && (lanes.inexact[i] & kSeqInexact) != 0;
    if (kernel.exact_seq_lens && inexact && exactness == Exactness::kDemanded) break;
    if (*num_live == kernel.max_requests || !admits_request(kernel, lanes, i)) break;
    ++*num_live;
    reached = i + 1;
  }
  return reached;
}

}  // namespace attnplan
