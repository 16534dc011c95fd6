// A plan before it is written: everything that its sections are made from.
#pragma once

#include <algorithm>

#include "attnplan/planner.h"
#include "planner/graph.h"
#include "planner/lanes.h"
#include "planner/resolve.h"
#include "planner/scratch.h"
#include "planner/state.h"

namespace attnplan {

// How long the lists of all context chunks are.
struct ChunkTotals {
  int64_t chunks = 0;
  int64_t starts = 0;  // of requests in chunks, and one more a chunk
  int64_t tokens = 0;
};

struct Plan {
  const Planner::State* state = nullptr;
  const Step* step = nullptr;
  const Group* group = nullptr;
  const Lanes* lanes = nullptr;
  Scratch::Buffers* parts = nullptr;  // segments, refusals, warnings, chunks, work list
  uint64_t step_hash = 0;
  Range decode;  // D: what a decode kernel was tried on
  Resolution resolution;
  Graph graph;
  int32_t page_table_width = 0;  // pages
  ChunkTotals chunk_totals;
  uint8_t inexact = 0;          // all bits of lanes->inexact together
  int32_t padded_requests = 0;  // extent of request-indexed sections, graph pads included
  int32_t padded_rows = 0;      // of row-indexed ones
  int32_t pad_width = 0;        // rows of each graph pad: 0, or `width` for pads of full width
  int32_t first_graph_pad = 0;  // plan position behind the last segment
  int32_t graph_end = 0;        // behind the requests of a uniform full graph; else 0
  // Requests whose rows the device splits, and the plan positions from the first to behind the last
  // of them: in between even exact requests' rows may move.
  int32_t num_query_inexact = 0;
  int32_t moving_begin = 0;
  int32_t moving_end = 0;

  bool asked(int32_t section) const { return (state->config.sections >> section & 1) != 0; }
  bool query_inexact(int32_t i) const {
    return lanes->inexact != nullptr && (lanes->inexact[i] & kQueryInexact) != 0;
  }
  bool seq_inexact(int32_t i) const {
    return lanes->inexact != nullptr && (lanes->inexact[i] & kSeqInexact) != 0;
  }
  bool context_inexact(int32_t i) const {
    return lanes->inexact != nullptr && (lanes->inexact[i] & kContextInexact) != 0;
  }
  bool rows_move(int32_t i) const { return moving_begin <= i && i < moving_end; }
  // A pad that gets `width` rows and one KV token, whether the step itself or the graph brings it.
  bool is_full_pad(int32_t i) const {
    return pad_width > 0 && first_graph_pad <= i && i < graph_end;
  }
  // How many of those there are before position `end`.
  int32_t full_pads_before(int32_t end) const {
    return pad_width > 0 ? std::max(std::min(end, graph_end) - first_graph_pad, 0) : 0;
  }
  // Upper bound on the KV tokens of a live request; 0 for a pad.
  int32_t max_seq_len(int32_t i) const {
    if (lanes->query_lens[i] == 0) return 0;
    if (!query_inexact(i)) return lanes->seq_lens[i];
    int64_t bound = int64_t{lanes->context_lens[i]} + lanes->query_bound;
    if (lanes->is_cut(i) && bound > lanes->seq_lens[i]) bound = lanes->seq_lens[i];
    return bound < INT32_MAX ? static_cast<int32_t>(bound) : INT32_MAX;
  }
  // Context that lies inside the sequence: a draft step's clamp may cut below it.
  int32_t context_in_cache(int32_t i) const {
    const int32_t context_len = lanes->context_lens[i], seq_len = lanes->seq_lens[i];
    return lanes->is_cut(i) && seq_len < context_len ? seq_len : context_len;
  }
};

// Where the host cannot know an element of a section that the device will write, and in tails of
// index-like sections.
inline constexpr int32_t kFill = -1;

inline uint8_t device_if(bool inexact) {
  return inexact ? ATTNPLAN_VALIDITY_DEVICE : ATTNPLAN_VALIDITY_EXACT;
}

}  // namespace attnplan
