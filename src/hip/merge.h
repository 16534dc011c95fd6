// Combines the partial outputs of tiles that several items share, by log-sum-exp, in KV order.
#pragma once

#include "hip/attention_args.h"
#include "hip/convert.h"

namespace attnplan::hip {

constexpr int kMergeThreads = 128;

// One row and query head: `element` of the output, and the log-sum-exp, base 2.
template <class Arch>
ATTNPLAN_DEVICE float merge_element(const MergeArgs& args, int32_t begin, int32_t end,
                                    int32_t packed, int32_t element, float* lse) {
  float largest = -__builtin_huge_valf(), sum = 0, value = 0;
  for (int32_t j = begin; j < end; ++j) {
    const int64_t index = int64_t{args.slots[j]} * args.query_tile + packed;
    const float next = args.partial_lse[index];
    if (next == -__builtin_huge_valf()) continue;  // a part without keys
    const float grown = maximum(largest, next);
    const float keep = exp2_approx(largest - grown), add = exp2_approx(next - grown);
    value = value * keep + add * args.partial_out[index * args.v_head_size + element];
    sum = sum * keep + add;
    largest = grown;
  }
  *lse = sum > 0 ? largest + log2_approx(sum) : -__builtin_huge_valf();
  return sum > 0 ? value / sum : 0;
}

template <class Arch>
ATTNPLAN_DEVICE void merge(const MergeArgs& args) {
  const attnplan_segment& segment = *args.segment;
  const auto count = static_cast<int32_t>(args.tiles_section->count);
  // Work: (tile, packed row); a block takes rows in turn. Tiles have query_tile rows at most.
  for (int32_t unit = block_index(); unit < count * args.query_tile; unit += grid_blocks()) {
    const int32_t index = unit / args.query_tile, packed = unit % args.query_tile;
    const attnplan_merge_tile tile = args.tiles[index];
    if (tile.request < segment.req_begin || tile.request >= segment.req_end) continue;
    const int32_t row = tile.row_begin + packed / args.group;
    if (row >= tile.row_end) continue;
    const int32_t head = tile.kv_head * args.group + packed % args.group;
    const int64_t tensor_row =
        segment.row_begin + row +
        args.query_start_loc[segment.query_start_loc_begin + tile.request - segment.req_begin];
    uint16_t* out = args.out + tensor_row * args.out_row_stride + head * args.out_head_stride;
    for (int32_t e = thread_index(); e < args.v_head_size; e += block_threads()) {
      float lse;
      const float value =
          merge_element<Arch>(args, args.indptr[index], args.indptr[index + 1], packed, e, &lse) *
          args.v_scale;
      out[e] =
          static_cast<uint16_t>(args.out_is_bf16 != 0 ? pack_bf16(value, 0) : pack_fp16(value, 0));
      if (e == 0 && args.lse != nullptr) {
        args.lse[tensor_row * args.lse_row_stride + head] = lse * kLn2;
      }
    }
  }
}

#if !defined(ATTNPLAN_HIP_EMULATED)
static ATTNPLAN_LAUNCH_BOUNDS(kMergeThreads, 1) ATTNPLAN_GLOBAL void merge_kernel(MergeArgs args) {
  merge<DeviceArch>(args);
}
#endif

}  // namespace attnplan::hip
