// Judges what an engine is about to launch against the contract of the kernel. Needs no plan.
#pragma once

#include <cstddef>

#include "attnplan/planner.h"

namespace attnplan {

struct Dispatch {  // 0: not declared, but for kernel and requests; rows [0, 0) likewise
  int32_t kernel = 0;
  int32_t req_begin = 0;
  int32_t req_end = 0;
  int32_t row_begin = 0;
  int32_t row_end = 0;
  int32_t max_query_len = 0;
  int32_t max_seq_len = 0;
  Dtype label = Dtype::kNone;
  int64_t k_pages = 0;
  int64_t v_pages = 0;
  int64_t k_scale_pages = 0;
  int64_t v_scale_pages = 0;
};

// Requests and rows are in the order of the step. A contract that is not met is NO_ROUTE, with the
// refusal in the scratch's failed lists.
Status check_dispatch(const Planner& planner, const Step& step, const Dispatch& dispatch,
                      Scratch* scratch, Error* error);

}  // namespace attnplan
