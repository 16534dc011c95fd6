// Executes a plan on the CPU reference and compares it with an oracle that never sees the plan.
#pragma once

#include <cstdint>

#include "attnplan.h"

namespace attnplan::cpu {

struct RunOptions {
  uint64_t seed = 1;      // of the generated Q, K and V
  int32_t max_seq_len = 0;  // tokens; 0: as the batch says. Shortens contexts so that a run is quick
};

struct RunReport {
  int32_t requests = 0;      // live
  int64_t rows = 0;          // rows of the batch
  int64_t rows_written = 0;  // rows that the plan's segments wrote exactly once
  double max_error = 0;      // largest |plan - oracle| over (1e-6 + largest |oracle| of the row)
  int32_t worst_row = -1;    // row of the step, in input order
  bool ok = false;           // every row written once and max_error within 1e-9
};

// `config`, `step` and `group` are what the plan was built from; `group` may be null.
RunReport run(const attnplan_config& config, const attnplan_step& step, const attnplan_group* group,
              const void* plan, size_t plan_bytes, const RunOptions& options);

}  // namespace attnplan::cpu
