// Executes a plan on the CPU reference and compares it with an oracle that never sees the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "attnplan.h"
#include "cpu/shape.h"

namespace attnplan::cpu {

// Everything at its default runs the batch at full size. The caps make a run cheap and leave the
// mapping of rows to requests and positions untouched, which is what a run is there to check.
struct RunOptions {
  uint64_t seed = 1;          // of the generated Q, K and V
  int32_t max_seq_len = 0;    // tokens; 0: as the batch says. Shortens contexts, never queries
  int32_t max_kv_heads = 0;   // 0: all
  int32_t max_group = 0;      // query heads per KV head; 0: all
  int32_t max_head_size = 0;  // elements; 0: as configured. K and V stay different where they are
  int64_t max_rows = 0;       // rows that are computed and compared; 0: all. The first and the last
                              // row of every request are always among them
  std::optional<M3Params> sparse;  // MiniMax-M3 selection; absent: as the profile says

  // Caps under which a step of 128 requests takes about a tenth of a second.
  static RunOptions quick();
};

struct RunReport {
  int32_t requests = 0;           // live
  int64_t rows = 0;               // rows of the batch
  int64_t rows_written = 0;       // rows that the plan's segments wrote exactly once
  int64_t rows_unwritten = 0;     // rows that no segment wrote
  int64_t rows_rewritten = 0;     // rows written more than once
  int64_t rows_out_of_range = 0;  // writes beyond the rows of their segment or of the batch
  int64_t pad_rows = 0;           // rows that a graph adds behind the batch: zeros
  int64_t rows_compared = 0;      // rows computed by both sides
  int64_t rows_wrong = 0;         // of those, beyond the tolerance
  int64_t max_seq_len = 0;        // tokens, as executed
  AttentionShape shape;           // as executed
  bool sparse = false;
  double max_error = 0;        // largest |plan - oracle| over (1e-6 + largest |oracle| of the row)
  double max_lse_error = 0;    // the same of the log-sum-exp
  int32_t worst_row = -1;      // row of the step, in input order
  int32_t worst_request = -1;  // its request, in input order
  std::string problem;  // what is wrong with the blob itself; empty where it could be executed
  bool ok = false;  // executed, every row written once, no write astray, both errors within 1e-9
};

// `config`, `step` and `group` are what the plan was built from; `group` may be null. Reads the
// step's arrays as the planner does (query_lens or query_start_loc, seq_lens or computed + query).
// Host lengths count as the truth, also where the step calls them inexact. Never throws for a bad
// plan: that is what `problem` and the counts are for.
RunReport run(const attnplan_config& config, const attnplan_step& step, const attnplan_group* group,
              const void* plan, size_t plan_bytes, const RunOptions& options);

}  // namespace attnplan::cpu
