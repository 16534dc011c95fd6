#include "cpu/lengths.h"

#include <algorithm>

namespace attnplan::cpu {

Lengths read_lengths(const attnplan_step& step) {
  Lengths lengths;
  const int32_t n = std::max(step.num_reqs, 0);
  lengths.row_begin.assign(1, 0);
  for (int32_t r = 0; r < n; ++r) {
    const int32_t rows = step.query_lens != nullptr
                             ? step.query_lens[r]
                             : step.query_start_loc[r + 1] - step.query_start_loc[r];
    const int32_t query_len = std::max(rows, 0);
    int32_t seq_len = query_len;
    if (step.seq_lens != nullptr) {
      seq_len = step.seq_lens[r];
    } else if (step.num_computed_tokens != nullptr) {
      seq_len += step.num_computed_tokens[r];
    }
    lengths.query_lens.push_back(query_len);
    lengths.seq_lens.push_back(std::max(seq_len, 0));
    lengths.row_begin.push_back(lengths.row_begin.back() + query_len);
  }
  return lengths;
}

Lengths shorten(Lengths lengths, int32_t max_seq_len) {
  if (max_seq_len <= 0) return lengths;
  for (int32_t r = 0; r < lengths.size(); ++r) {
    const int64_t least = lengths.query_lens[r] + (lengths.first_position(r) > 0 ? 1 : 0);
    const int64_t cap = std::max<int64_t>(max_seq_len, least);
    lengths.seq_lens[r] = static_cast<int32_t>(std::min<int64_t>(lengths.seq_lens[r], cap));
  }
  return lengths;
}

}  // namespace attnplan::cpu
