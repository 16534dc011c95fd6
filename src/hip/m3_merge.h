// The parts of a row that several blocks of m3_sparse share, put together.
#pragma once

#include "hip/m3_sparse.h"

namespace attnplan::hip {

// Splits of a row and query head, weighted by their sums of exponentials. A wave takes one at a
// time, a lane four elements of it.
template <class Arch>
class M3Merge {
 public:
  ATTNPLAN_DEVICE explicit M3Merge(const M3SparseArgs& args)
      : args_(args),
        attention_(args.attention),
        rows_(args.attention, args.slots),
        lane_(lane_index<Arch>()) {}

  ATTNPLAN_DEVICE void run() const {
    if (rows_.splits == 1) return;
    const int32_t heads = attention_.num_kv_heads * attention_.group;
    const int waves = block_threads() / Arch::kWave;
    for (int32_t unit = block_index() * waves + wave_index<Arch>();
         unit < (rows_.end - rows_.begin) * heads; unit += grid_blocks() * waves) {
      merge(rows_.begin + unit / heads, unit % heads);
    }
  }

 private:
  ATTNPLAN_DEVICE void merge(int32_t row, int32_t head) const {
    const int32_t kv_head = head / attention_.group;
    const int64_t slot = rows_.slot(row, attention_.num_kv_heads, kv_head);
    const int64_t first = slot * attention_.group + head % attention_.group;
    const bool pad = load_uniform(args_.row_position + row) < 0;
    const int32_t splits = pad ? 0 : rows_.splits;
    float most = kMinusInfinity;
    for (int32_t j = 0; j < splits; ++j) most = maximum(most, lse(first, j));
    const float base = most == kMinusInfinity ? 0 : most;
    uint16_t* to =
        attention_.out + row * attention_.out_row_stride + head * attention_.out_head_stride;
    float sum = 0;
    for (int32_t j = 0; j < splits; ++j) sum += exp2_approx(lse(first, j) - base);
    const float factor = sum > 0 ? attention_.v_scale / sum : 0;
    for (int32_t e = 4 * lane_; e < args_.v_head_size; e += 4 * Arch::kWave) {
      float value[4] = {0, 0, 0, 0};
      for (int32_t j = 0; j < splits; ++j) {
        const float weight = exp2_approx(lse(first, j) - base);
        const Words<4> words = load_words<4>(
            attention_.partial_out + (first + j * attention_.group) * args_.v_head_size + e);
        ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) value[i] += weight * float_of(words.w[i]);
      }
      ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) value[i] *= factor;
      const bool bf16 = attention_.q_is_bf16 != 0;
      store_words<2>(to + e,
                     Words<2>{{pair(bf16, value[0], value[1]), pair(bf16, value[2], value[3])}});
    }
    if (attention_.lse != nullptr && lane_ == 0) {
      attention_.lse[row * attention_.lse_row_stride + head] =
          sum > 0 ? (most + log2_approx(sum)) * kLn2 : kMinusInfinity;
    }
  }
  ATTNPLAN_DEVICE static uint32_t pair(bool bf16, float low, float high) {
    return bf16 ? pack_bf16(low, high) : pack_fp16(low, high);
  }
  ATTNPLAN_DEVICE float lse(int64_t first, int32_t split) const {
    return attention_.partial_lse[first + split * attention_.group];
  }

  const M3SparseArgs& args_;
  const AttentionArgs& attention_;
  const M3SparseRows rows_;
  const int lane_;
};

template <class Arch>
ATTNPLAN_DEVICE void m3_merge(const M3SparseArgs& args) {
  M3Merge<Arch>(args).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
static ATTNPLAN_LAUNCH_BOUNDS(kM3MergeThreads, 1) ATTNPLAN_GLOBAL
    void m3_merge_kernel(M3SparseArgs args) {
  m3_merge<DeviceArch>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
