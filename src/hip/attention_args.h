// What the attention kernels and the merge are handed. Plain data, passed by value, filled in by
// launch.cc from a checked attnplan_hip_launch_args: addresses stay the same when a captured graph
// is replayed, everything that changes is read through them.
#pragma once

#include <cstdint>

#include "attnplan_plan_format.h"

namespace attnplan::hip {

inline constexpr int kAttentionWaves = 4;  // of a block
inline constexpr int kMergeThreads = 256;

// K or V of a paged cache. Strides in bytes; a page id addresses
//   data + (id / pages_per_stride) * block_stride + (id % pages_per_stride) * page_stride
//        + head * head_stride
// and inside the page:
//   K and plain V: token * token_stride + (byte / 16) * chunk_stride + byte % 16
//   shuffled V:    (token / x) * token_stride + element * 16 + (token % x) * element bytes,
//                  x = 16 / element bytes
struct CacheTensor {
  const uint8_t* data;
  int64_t block_stride;
  int64_t page_stride;
  int64_t head_stride;
  int64_t token_stride;
  int64_t chunk_stride;
};

// float32 scales of single tokens; strides in elements. data NULL: none.
struct ScaleTensor {
  const float* data;
  int64_t block_stride;
  int64_t page_stride;
  int64_t head_stride;
  int64_t token_stride;
};

struct AttentionArgs {
  // The plan, on the device.
  const attnplan_plan_header* header;
  const attnplan_segment* segment;  // the one to run; readable in a plan that has fewer, too
  const int32_t* query_start_loc;   // whole section
  const int32_t* seq_lens;
  const int32_t* context_lens;
  const int32_t* page_indptr;  // NULL: page_indices is a table of page_table_width columns
  const int32_t* page_indices;
  const attnplan_work_item* items;
  const int32_t* worker_indptr;
  int32_t segment_index;
  int32_t page_table_width;

  // Tensors. Strides in elements; the last dimension is contiguous, rows are 16-byte aligned.
  const uint16_t* q;  // [rows, num_q_heads, head_size]
  uint16_t* out;      // [rows, num_q_heads, v_head_size], the dtype of q
  float* lse;         // [rows, num_q_heads] natural logarithm; NULL: not wanted
  int64_t q_row_stride;
  int64_t q_head_stride;
  int64_t out_row_stride;
  int64_t out_head_stride;
  int64_t lse_row_stride;
  CacheTensor k;
  CacheTensor v;
  ScaleTensor k_scales;
  ScaleTensor v_scales;
  float* partial_out;  // [slots, query_tile, v_head_size] outputs, each normalised by itself
  float* partial_lse;  // [slots, query_tile] base 2

  int32_t num_kv_heads;
  int32_t group;             // query heads per KV head
  int32_t query_tile;        // packed rows of a slot
  int32_t page_shift;        // log2 of the page size
  int32_t pages_per_stride;  // page ids between two blocks; 1: pages lie at id * block_stride
  int32_t q_is_bf16;         // else fp16
  int32_t causal;
  int32_t sliding_window;  // tokens a row may see, itself included; 0: all
  float scale_log2;        // softmax scale * K's tensor scale * log2(e); with a soft cap without
                           // log2(e) and divided by the cap
  float soft_cap_log2;     // soft cap * log2(e); 0: none
  float v_scale;           // V's tensor scale

  // Debugging: page ids outside [0, num_pages) are counted here and read as page 0. NULL: trusted.
  int32_t* bad_pages;
  int32_t num_pages;

  // MiniMax-M3: blocks of 128 tokens to attend, [num_kv_heads, rows, top_k], -1 behind the last.
  const int32_t* selected;
  int64_t selected_head_stride;  // elements
  int32_t top_k;
};

struct MergeArgs {
  const attnplan_plan_header* header;
  const attnplan_segment* segment;
  const attnplan_section* tiles_section;  // its count says how many tiles there are
  const attnplan_merge_tile* tiles;
  const int32_t* indptr;
  const int32_t* slots;
  const int32_t* query_start_loc;
  const float* partial_out;
  const float* partial_lse;
  uint16_t* out;
  float* lse;
  int64_t out_row_stride;
  int64_t out_head_stride;
  int64_t lse_row_stride;
  int32_t segment_index;
  int32_t group;
  int32_t query_tile;
  int32_t v_head_size;
  int32_t out_is_bf16;
  float v_scale;
};

}  // namespace attnplan::hip
