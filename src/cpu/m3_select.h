// MiniMax-M3 block selection as the executor does it: block scores of all rows of a request in one
// sweep over the index keys, then a partial sort of each row's live blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/shape.h"

namespace attnplan::cpu {

struct IndexQuery {
  const double* vector;  // [index_head_size]
  int64_t position;      // absolute; sees keys up to and including it
};

// scores[row][block] over the live blocks of each row: the largest scaled product with a visible
// key. A block with a score that is no number gets NaN.
std::vector<std::vector<double>> m3_block_scores(const M3Params& params,
                                                 std::span<const IndexQuery> rows, RowsView keys);

// The selected blocks in order of rank (init blocks, local blocks, then by score), padded with -1
// to top_k. Higher scores first, equal scores the higher block first, NaN last.
std::vector<int32_t> m3_select(const M3Params& params, std::span<const double> scores);

// The keys of the selected blocks, as far as `visible` shows them.
std::vector<KeyRange> blocks_to_ranges(const M3Params& params, std::span<const int32_t> selected,
                                       KeyRange visible);

}  // namespace attnplan::cpu
