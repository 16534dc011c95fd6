#include "planner/measure.h"

#include <algorithm>

#include "planner/short_batch.h"

namespace attnplan {
namespace {

// Widens the maxima and minima by what the device may still decide.
void apply_inexactness(const Lanes& lanes, Range range, Facts* facts) {
  int32_t max_query = 0, min_query = INT32_MAX, max_seq = 0, min_seq = INT32_MAX;
  for (int32_t i = range.begin; i < range.end; ++i) {
    if (lanes.query_lens[i] == 0) continue;
    const uint8_t bits = lanes.inexact[i];
    facts->query_inexact |= (bits & kQueryInexact) != 0;
    facts->seq_inexact |= (bits & kSeqInexact) != 0;
    int32_t low = lanes.query_lens[i], high = low;
    int32_t seq_low = lanes.seq_lens[i];
    int64_t seq_high = seq_low;
    if (bits & kQueryInexact) {
      low = 1;
      high = lanes.query_bound;
      seq_low = lanes.context_lens[i] + 1;
      seq_high = static_cast<int64_t>(lanes.context_lens[i]) + lanes.query_bound;
      if (lanes.is_cut(i)) {
        seq_low = std::min(seq_low, lanes.seq_lens[i]);
        seq_high = std::min<int64_t>(seq_high, lanes.seq_lens[i]);
      }
    }
    min_query = std::min(min_query, low);
    max_query = std::max(max_query, high);
    min_seq = std::min(min_seq, seq_low);
    max_seq = std::max(max_seq, static_cast<int32_t>(std::min<int64_t>(seq_high, INT32_MAX)));
  }
  facts->min_query_len = min_query;
  facts->max_query_len = max_query;
  facts->min_seq_len = min_seq;
  facts->max_seq_len = max_seq;
}

}  // namespace

void measure(const Lanes& lanes, Range range, const Isa& isa, Facts* facts) {
  MeasureResult result;
  const int32_t n = range.end - range.begin;
  const auto measure_loop = n <= kShortBatch ? measure_short : isa.measure;
  measure_loop(lanes.query_lens + range.begin, lanes.seq_lens + range.begin,
               lanes.context_lens + range.begin, n, &result);
  make_facts(lanes, range, result, facts);
}

void make_facts(const Lanes& lanes, Range range, const MeasureResult& result, Facts* facts) {
  facts->num_live = result.num_live;
  facts->num_pads = range.end - range.begin - result.num_live;
  facts->min_query_len = result.min_query_len;
  facts->max_query_len = result.max_query_len;
  facts->min_seq_len = result.min_seq_len;
  facts->max_seq_len = result.max_seq_len;
  facts->min_context_len = result.min_context_len;
  facts->max_context_len = result.max_context_len;
  facts->rows = result.rows;
  facts->sum_seq_lens = result.sum_seq_lens;
  facts->sum_context_lens = result.sum_context_lens;
  facts->query_inexact = facts->seq_inexact = false;
  if (lanes.inexact != nullptr) apply_inexactness(lanes, range, facts);
}

bool has_inexact_query(const Lanes& lanes, Range range) {
  if (lanes.inexact == nullptr) return false;
  return std::any_of(lanes.inexact + range.begin, lanes.inexact + range.end,
                     [](uint8_t bits) { return (bits & kQueryInexact) != 0; });
}

bool rows_may_move_past(const Lanes& lanes, int32_t position) {
  return has_inexact_query(lanes, {position, lanes.n}) && has_inexact_query(lanes, {0, position});
}

Range trim(const Lanes& lanes, Range range) {
  while (range.begin < range.end && lanes.query_lens[range.begin] == 0) ++range.begin;
  while (range.begin < range.end && lanes.query_lens[range.end - 1] == 0) --range.end;
  if (range.empty()) return Range{};
  return range;
}

}  // namespace attnplan
