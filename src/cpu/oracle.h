// The right answer, the plain way: all scores of a row, their maximum, their sum, then the weighted
// values, in float64. Knows requests and positions, nothing of plans, pages or segments. Pure
// functions over explicit views, so that any kernel's inputs can be judged by them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/shape.h"

namespace attnplan::cpu {

// Attends the keys listed (positions, rows of k and v). Writes v_head_size elements and returns the
// log-sum-exp; zeros and minus infinity where no key is listed.
double oracle_attend(const AttentionShape& shape, const double* query, RowsView k, RowsView v,
                     std::span<const int64_t> keys, std::span<double> out);

// Positions that a row at `position` of a request with `seq_len` tokens sees, ascending. A window
// bounds how far back a row sees under every mask; only the causal mask bounds how far ahead.
std::vector<int64_t> oracle_visible(const AttentionShape& shape, int64_t position, int64_t seq_len);

// MiniMax-M3: the selected blocks of a row at `position`, best first, padded with -1 to top_k.
// `keys` holds the index key of every position up to it.
std::vector<int32_t> oracle_m3_blocks(const M3Params& params, const double* index_query,
                                      RowsView keys, int64_t position);

// Those of `visible` that lie in a selected block.
std::vector<int64_t> oracle_m3_keys(const M3Params& params, std::span<const int32_t> blocks,
                                    std::span<const int64_t> visible);

}  // namespace attnplan::cpu
