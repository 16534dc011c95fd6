// Runs the segments of a plan over a paged cache, mapping rows to requests and positions the way
// kernels of each route do. A wrong plan therefore gives wrong answers, not an error.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/launch.h"
#include "cpu/output.h"
#include "cpu/plan_view.h"

namespace attnplan::cpu {

struct Execution {
  Output out;                   // rows in plan order, behind them the rows that a graph adds
  std::vector<int32_t> writes;  // of each row of `out`
  int64_t out_of_range = 0;     // writes outside the segment's rows or the batch
  int64_t pad_rows = 0;         // that a graph adds
};

// `plan` is of a step with the lengths of `input`.
Execution execute(const PlanView& plan, const ExecutorInput& input);

}  // namespace attnplan::cpu
