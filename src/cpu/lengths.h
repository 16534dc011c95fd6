// The lengths of a step as plain arrays, whichever way the caller gave them.
#pragma once

#include <cstdint>
#include <vector>

#include "attnplan.h"

namespace attnplan::cpu {

struct Lengths {
  std::vector<int32_t> query_lens;  // [n] rows
  std::vector<int64_t> row_begin;   // [n + 1] rows
  std::vector<int32_t> seq_lens;    // [n] tokens, rows included, before any clamp

  int32_t size() const { return static_cast<int32_t>(query_lens.size()); }
  int64_t rows() const { return row_begin.back(); }
  // Position of the first row. Negative only under a full mask with more rows than keys.
  int64_t first_position(int32_t request) const {
    return static_cast<int64_t>(seq_lens[request]) - query_lens[request];
  }
};

// seq_lens absent: computed + query. Negative lengths, which no planner lets pass, count as 0.
Lengths read_lengths(const attnplan_step& step);

// Contexts shortened so that no sequence is longer than `max_seq_len` tokens (0: no change). Rows
// stay, and a request with context keeps at least one token of it.
Lengths shorten(Lengths lengths, int32_t max_seq_len);

}  // namespace attnplan::cpu
