// The loops that touch every request, compiled once per instruction set. Results are identical on
// every target. A target's file includes isa_loops.inc and nothing of the standard library, so that
// no inline function compiled for a newer processor can reach an older one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "planner/work_cuts.h"

namespace attnplan {

struct ScanInput {
  int32_t n;
  const int32_t* query_lens;
  const int32_t* seq_lens;
  const int32_t* num_computed_tokens;  // null: absent, likewise below
  const int32_t* num_prompt_tokens;
  const int32_t* num_known_tokens;
  const int32_t* num_draft_tokens;
  const uint8_t* is_prefilling;
  int32_t decode_threshold;
  int32_t max_query_len;  // declared; INT32_MAX where absent
  bool causal;
  bool all_exact;     // lengths must add up
  bool target_phase;  // drafts and resumed requests mean something
  bool dummy_phase;   // capture, idle: state means nothing
  bool short_extend_decode;
};

// Over live requests; minima are INT32_MAX and maxima 0 where there is none.
struct MeasureResult {
  int32_t num_live;
  int32_t min_query_len, max_query_len;
  int32_t min_seq_len, max_seq_len;
  int32_t min_context_len, max_context_len;
  int64_t rows, sum_seq_lens, sum_context_lens;
};

struct ScanResult {
  bool suspicious;        // some check of section "Validation" may fail: diagnose() says which
  int32_t first_live;     // n where there is none
  int32_t last_live;      // -1 where there is none
  int32_t first_prompt;   // first request of class extend or prefill; n where there is none
  int32_t last_unprompt;  // last request of class decode or extend; -1 where there is none
  MeasureResult all;
  // fingerprint.h: of (query, seq), (prompt, drafts), (context, known). A context length that was
  // checked to be seq - query says nothing new and is left out where nothing is known.
  uint64_t prints[3];
};

// The rows of a block table. Of each only the live ids are read, as many as its tokens need.
struct IdRows {
  int32_t n;
  const int32_t* ids;
  const int32_t* indptr;  // null: row i starts at ids + i * row_stride and has `columns` ids
  int64_t row_stride;
  int64_t columns;
  const int32_t* order;       // null, or [n] the row of each of the following
  const int32_t* query_lens;  // [n] 0: a pad, without live ids
  const int32_t* seq_lens;    // [n]
  int32_t block_size;
  int32_t num_blocks;
};

// Page j of block b is b * stride + j. A stride is a multiple of pages_per_block.
struct PageShape {
  int32_t pages_per_block;
  int32_t stride;
};

struct Isa {
  const char* name;
  // query_lens[i] = starts[i + 1] - starts[i]; true where the starts decrease somewhere.
  bool (*query_lens)(const int32_t* starts, int32_t n, int32_t* query_lens);
  // Context length and class (a Route) of every request, and whether anything looks wrong.
  // context_lens is not written where num_computed_tokens is given: it is the same; classes may be
  // null where only the marks are wanted.
  void (*scan)(const ScanInput& in, int32_t* context_lens, int32_t* classes, ScanResult* result);
  // Over requests [0, n) of the three arrays, pads left out.
  void (*measure)(const int32_t* query_lens, const int32_t* seq_lens, const int32_t* context_lens,
                  int32_t n, MeasureResult* result);
  bool (*ids_in_range)(const int32_t* ids, int32_t n, int32_t num_blocks);
  // Whether all live ids of all rows are in [0, num_blocks).
  bool (*rows_in_range)(const IdRows& rows);
  // Row by row the pages of its live ids, at most `wide`, then -1 up to `wide` ids' pages.
  void (*expand_rows)(const IdRows& rows, PageShape shape, int64_t wide, int32_t* out);
  // The pages of ids [0, live), then -1 for those of ids [live, wide), of which none is read.
  void (*expand_ids)(PageShape shape, const int32_t* ids, int32_t live, int64_t wide, int32_t* out);
  uint64_t (*hash)(const void* data, size_t bytes, uint64_t seed);
  // The work list stream_k: see work_stream_k.cc.
  void (*locate_cuts)(int64_t head_cost, const int64_t* span_costs, WorkCuts* cuts);
  void (*count_cuts)(WorkCuts* cuts);
  void (*write_items)(const WorkCuts& cuts, attnplan_work_item* items);
};

extern const Isa kIsaBaseline;
#if defined(__x86_64__)
extern const Isa kIsaAvx2;
extern const Isa kIsaAvx512;
#endif

// The best target that this processor runs.
const Isa& best_isa();

}  // namespace attnplan
