// Rows that attend nothing: their outputs are zeros, their log-sum-exps minus infinity. Which they
// are is read from the plan on the device, so that a captured launch serves other batches.
#pragma once

#include "hip/attention_args.h"
#include "hip/convert.h"

namespace attnplan::hip {

// A captured launch may meet a plan of fewer segments. What lies in the place of its own is then
// left over from an earlier plan.
template <class Args>
ATTNPLAN_DEVICE bool has_segment(const Args& args) {
  return args.segment_index < load_uniform(&args.header->num_segments);
}

// Rows that a full graph adds behind the batch. One launch takes them: that of the first segment,
// which every graph has, whatever the segments of the plan that it meets.
struct GraphRows {
  template <class Args>
  ATTNPLAN_DEVICE explicit GraphRows(const Args& args) : begin(0), end(0) {
    if (args.segment_index != 0) return;
    if (load_uniform(&args.header->graph_kind) != ATTNPLAN_GRAPH_FULL) return;
    begin = load_uniform(&args.header->num_rows);
    end = load_uniform(&args.header->graph_rows);
  }
  int32_t begin, end;
};

// By the threads of a block.
template <int kHeadV>
ATTNPLAN_DEVICE void clear_row(const AttentionArgs& args, int64_t row) {
  constexpr int kWords = kHeadV / 8;  // of 16 bytes
  const int32_t heads = args.num_kv_heads * args.group;
  const int thread = computed_here(thread_index());  // no registers for it before this point
  uint16_t* const out = args.out + row * args.out_row_stride;
  for (int32_t at = thread; at < heads * kWords; at += block_threads()) {
    store_words<4>(out + at / kWords * args.out_head_stride + at % kWords * 8,
                   Words<4>{{0, 0, 0, 0}});
  }
  if (args.lse == nullptr) return;
  for (int32_t h = thread; h < heads; h += block_threads()) {
    args.lse[row * args.lse_row_stride + h] = -__builtin_huge_valf();
  }
}

// By the whole grid.
template <int kHeadV>
ATTNPLAN_DEVICE void clear_rows(const AttentionArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin + block_index(); row < end; row += grid_blocks()) {
    clear_row<kHeadV>(args, row);
  }
}

}  // namespace attnplan::hip
