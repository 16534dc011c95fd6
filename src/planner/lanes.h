// The step in plan order: what every stage behind classification reads.
#pragma once

#include <cstdint>

namespace attnplan {

// Bits of Lanes::inexact.
inline constexpr uint8_t kQueryInexact = 1;    // a verify row count that the device decides
inline constexpr uint8_t kSeqInexact = 2;      // the host seq_len is a bound
inline constexpr uint8_t kContextInexact = 4;  // so is the context length

struct Lanes {
  int32_t n = 0;                          // requests, pads included
  int64_t rows = 0;                       // sum of query_lens
  const int32_t* query_lens = nullptr;    // [n] rows; 0: pad
  const int32_t* seq_lens = nullptr;      // [n] tokens
  const int32_t* context_lens = nullptr;  // [n] tokens
  const int32_t* classes = nullptr;       // [n] Route before kernels are chosen; null: only marks
  const uint8_t* inexact = nullptr;       // [n] bits above; null where everything is exact
  const int32_t* order = nullptr;  // [n] plan position -> request of the step; null: the same
  const uint8_t* cut = nullptr;    // [n] 1: a draft step's seq_len was cut to its table row
  int32_t query_bound = 0;         // rows an inexact verify request may bring at most

  bool is_cut(int32_t position) const { return cut != nullptr && cut[position] != 0; }
  int32_t input_request(int32_t position) const { return order ? order[position] : position; }
};

struct Range {  // of plan positions, half-open
  int32_t begin = 0;
  int32_t end = 0;
  bool empty() const { return begin >= end; }
  bool operator==(const Range&) const = default;
};
inline bool contains(Range outer, Range inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}
// The smallest range that holds both; an empty one adds nothing.
inline Range hull(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

// Figures over the live requests of a range. Where lengths are inexact, maxima are upper and minima
// lower bounds, and sums are of the host's values.
struct Facts {
  int32_t num_live = 0;
  int32_t num_pads = 0;  // pads inside the range
  int32_t min_query_len = 0;
  int32_t max_query_len = 0;
  int32_t min_seq_len = 0;
  int32_t max_seq_len = 0;
  int32_t min_context_len = 0;
  int32_t max_context_len = 0;
  int64_t rows = 0;
  int64_t sum_seq_lens = 0;
  int64_t sum_context_lens = 0;
  bool query_inexact = false;
  bool seq_inexact = false;

  bool uniform() const { return !query_inexact && num_pads == 0 && min_query_len == max_query_len; }
  int32_t width() const { return uniform() ? max_query_len : 0; }
};

}  // namespace attnplan
