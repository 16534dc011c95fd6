// What the MiniMax-M3 kernels are handed. Plain data, passed by value.
#pragma once

#include <cstdint>

#include "hip/attention_args.h"

namespace attnplan::hip {

inline constexpr int kM3BlockKeys = 128;  // tokens of a block
inline constexpr int kM3MaxTopK = 32;
inline constexpr int kM3IndexWaves = 4;  // of a block of either index kernel

// Block scores, then the selection from them, of one segment. Two launches.
struct M3IndexArgs {
  // The index as one KV head: q is [rows, index heads, index_head_size], `group` the index heads
  // (one per KV head of the model), `k` the index cache, scale_log2 index_head_size^-0.5 * the
  // cache's scale, causal 1, no window. Of the plan: segment, query_start_loc, seq_lens,
  // context_lens and the pages. Nothing else is read.
  AttentionArgs index;
  const int32_t* row_request;  // [rows of the plan]
  const int32_t* row_position;
  float* scores;               // workspace [index heads, rows of the plan, max_blocks]
  int64_t scores_head_stride;  // elements
  int32_t max_blocks;          // of 128 tokens, of the longest request there may be
  int32_t top_k;               // at most kM3MaxTopK
  int32_t init_blocks;
  int32_t local_blocks;
  int32_t* selected;  // [index heads, rows, top_k]: blocks in order of rank, then -1
  int64_t selected_head_stride;

  // For kernels that read pages of 16 tokens; NULL: not wanted. Index: row * index heads + head.
  int32_t* sparse_table;    // [, top_k * 8] pages, those of the row's own block last, then 0
  int32_t* sparse_context;  // tokens on them; 0 for pads
};

// Attention over the selected blocks. `attention` says where they are (selected, top_k), and what
// attention.h wants of the plan besides; query_tile is `group`.
struct M3SparseArgs {
  AttentionArgs attention;
  const int32_t* row_request;  // [rows of the plan]
  const int32_t* row_position;
  int32_t slots;        // of partial_out and partial_lse: the blocks of a grid to keep busy
  int32_t v_head_size;  // for m3_merge
};

inline constexpr int kM3MergeThreads = 128;

// Parts that the blocks of a row and KV head are cut into, so that no more slots are taken than
// there are: decided on the device, as a replayed launch meets other segments. Above 1 m3_merge
// has work to do. More parts than selected blocks would gain nothing.
constexpr int32_t m3_splits(int32_t rows, int32_t num_kv_heads, int32_t top_k, int32_t slots) {
  const int32_t units = rows * num_kv_heads;
  const int32_t splits = units > 0 ? slots / units : 1;
  return splits < 1 ? 1 : splits > top_k ? top_k : splits;
}

}  // namespace attnplan::hip
