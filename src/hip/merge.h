// Combines the partial outputs of tiles that several items share, by log-sum-exp, in KV order.
//
// Where a tile has few slots a wave takes one packed row by itself. Where it has many, as one long
// request split over the whole device has, a block does: its threads find the row's maximum, put
// the weights of the slots into shared memory, and then read the slots' outputs in groups, 16 bytes
// a thread, without waiting for each other. The order of additions depends on the number of slots
// alone.
#pragma once

#include "hip/attention_args.h"
#include "hip/convert.h"
#include "hip/pad_rows.h"

namespace attnplan::hip {

constexpr int kMergeFew = 8;        // slots
constexpr int kMergeWeights = 256;  // slots whose weights are in shared memory at a time

struct MergeMemory {
  SharedArray<float, kMergeThreads> maximum;
  SharedArray<float, kMergeWeights> weight;
  SharedArray<float, kMergeThreads * 4> out;
};

template <class Arch>
class Merge {
 public:
  ATTNPLAN_DEVICE Merge(const MergeArgs& args, MergeMemory& memory)
      : args_(args), memory_(memory), thread_(thread_index()) {}

  ATTNPLAN_DEVICE void run() {
    const int32_t tiles = has_segment(args_) ? static_cast<int32_t>(args_.tiles_section->count) : 0;
    for (int32_t unit = block_index(); unit < tiles * args_.query_tile; unit += grid_blocks()) {
      const int32_t index = unit / args_.query_tile, packed = unit % args_.query_tile;
      const int32_t begin = args_.indptr[index], end = args_.indptr[index + 1];
      Row row;
      if (end - begin > kMergeFew) {
        if (locate(index, packed, &row)) merge_row(begin, end, packed, row);
      } else if (packed % kWaves == 0) {
        const int32_t own = packed + thread_ / Arch::kWave;
        if (own < args_.query_tile && locate(index, own, &row)) merge_few(begin, end, own, row);
      }
    }
  }

 private:
  static constexpr int kWaves = kMergeThreads / Arch::kWave;
  struct Row {
    int64_t row;  // of the tensors
    int32_t head;
  };

  // Where packed row `packed` of a merge tile goes; false where there is none in this segment.
  ATTNPLAN_DEVICE bool locate(int32_t index, int32_t packed, Row* to) const {
    const attnplan_segment& segment = *args_.segment;
    const attnplan_merge_tile tile = args_.tiles[index];
    if (tile.request < segment.req_begin || tile.request >= segment.req_end) return false;
    const int32_t row = tile.row_begin + packed / args_.group;
    if (row >= tile.row_end) return false;
    to->row =
        segment.row_begin + row +
        args_.query_start_loc[segment.query_start_loc_begin + tile.request - segment.req_begin];
    to->head = tile.kv_head * args_.group + packed % args_.group;
    return true;
  }

  // By one wave; every lane has all weights, and 4 elements at a time.
  ATTNPLAN_DEVICE void merge_few(int32_t begin, int32_t end, int32_t packed, const Row& row) {
    float most = -__builtin_huge_valf();
    for (int32_t j = begin; j < end; ++j) most = maximum(most, lse_of(j, packed));
    const float base = most == -__builtin_huge_valf() ? 0 : most;
    for (int32_t element = thread_ % Arch::kWave * 4; element < args_.v_head_size;
         element += Arch::kWave * 4) {
      float value[4] = {0, 0, 0, 0}, sum = 0;
      for (int32_t j = begin; j < end; ++j) {
        const float weight = exp2_approx(lse_of(j, packed) - base);
        sum += weight;
        if (weight != 0) add(args_.slots[j], packed, element, weight, value);
      }
      write(row, element, most, sum, value);
    }
  }

  ATTNPLAN_DEVICE float lse_of(int32_t j, int32_t packed) const {
    return args_.partial_lse[int64_t{args_.slots[j]} * args_.query_tile + packed];
  }

  ATTNPLAN_DEVICE void merge_row(int32_t begin, int32_t end, int32_t packed, const Row& row) {
    const float most = find_maximum(begin, end, packed);
    const float base = most == -__builtin_huge_valf() ? 0 : most;
    // Thread: 4 elements of every `groups`-th slot.
    const int32_t lanes = args_.v_head_size / 4, groups = kMergeThreads / lanes;
    const int32_t group = thread_ / lanes, element = thread_ % lanes * 4;
    float value[4] = {0, 0, 0, 0}, sum = 0;
    for (int32_t from = begin; from < end; from += kMergeWeights) {
      const int32_t count = end - from < kMergeWeights ? end - from : kMergeWeights;
      block_barrier();  // the weights of before are used
      if (thread_ < count) {
        memory_.weight.store(thread_, exp2_approx(lse_of(from + thread_, packed) - base));
      }
      block_barrier();
      for (int32_t j = group; group < groups && j < count; j += groups) {
        const float weight = memory_.weight.load(j);
        sum += weight;
        if (weight == 0) continue;  // a part without keys may hold anything
        add(args_.slots[from + j], packed, element, weight, value);
      }
    }
    finish(row, most, sum, value, lanes, groups);
  }

  ATTNPLAN_DEVICE void add(int32_t slot, int32_t packed, int32_t element, float weight,
                           float (&value)[4]) const {
    const int64_t index = int64_t{slot} * args_.query_tile + packed;
    const Words<4> words = load_words<4>(args_.partial_out + index * args_.v_head_size + element);
    ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) value[i] += weight * float_of(words.w[i]);
  }

  ATTNPLAN_DEVICE float find_maximum(int32_t begin, int32_t end, int32_t packed) {
    float most = -__builtin_huge_valf();
    for (int32_t j = begin + thread_; j < end; j += kMergeThreads) {
      most = maximum(most, lse_of(j, packed));
    }
    block_barrier();  // the row before is done with the memory
    memory_.maximum.store(thread_, most);
    for (int half = kMergeThreads / 2; half > 0; half /= 2) {
      block_barrier();
      if (thread_ < half) {
        most = maximum(most, memory_.maximum.load(thread_ + half));
        memory_.maximum.store(thread_, most);
      }
    }
    block_barrier();
    return memory_.maximum.load(0);
  }

  // Sums up the groups; the sum of weights is the same for every element of a group.
  ATTNPLAN_DEVICE void finish(const Row& row, float most, float sum, const float (&value)[4],
                              int32_t lanes, int32_t groups) {
    block_barrier();
    ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) {
      memory_.out.store(thread_ + i * kMergeThreads, value[i]);
    }
    memory_.maximum.store(thread_, sum);
    block_barrier();
    if (thread_ >= lanes) return;
    float total[4] = {0, 0, 0, 0}, weights = 0;
    for (int32_t g = 0; g < groups; ++g) {
      weights += memory_.maximum.load(g * lanes + thread_);
      ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) {
        total[i] += memory_.out.load(g * lanes + thread_ + i * kMergeThreads);
      }
    }
    write(row, thread_ * 4, most, weights, total);
  }

  // Four elements from `element` on, and with the first of them the log-sum-exp.
  ATTNPLAN_DEVICE void write(const Row& row, int32_t element, float most, float sum,
                             const float (&value)[4]) const {
    const float factor = sum > 0 ? args_.v_scale / sum : 0;
    float scaled[4];
    ATTNPLAN_UNROLL for (int i = 0; i < 4; ++i) scaled[i] = value[i] * factor;
    Words<2> words;
    ATTNPLAN_UNROLL for (int w = 0; w < 2; ++w) {
      words.w[w] = args_.out_is_bf16 != 0 ? pack_bf16(scaled[2 * w], scaled[2 * w + 1])
                                          : pack_fp16(scaled[2 * w], scaled[2 * w + 1]);
    }
    store_words<2>(
        args_.out + row.row * args_.out_row_stride + row.head * args_.out_head_stride + element,
        words);
    if (element == 0 && args_.lse != nullptr) {
      args_.lse[row.row * args_.lse_row_stride + row.head] =
          sum > 0 ? (most + log2_approx(sum)) * kLn2 : -__builtin_huge_valf();
    }
  }

  const MergeArgs& args_;
  MergeMemory& memory_;
  int thread_;
};

template <class Arch>
ATTNPLAN_DEVICE void merge(const MergeArgs& args) {
  ATTNPLAN_SHARED(MergeMemory, memory);
  Merge<Arch>(args, memory).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
static ATTNPLAN_LAUNCH_BOUNDS(kMergeThreads, 1) ATTNPLAN_GLOBAL void merge_kernel(MergeArgs args) {
  merge<DeviceArch>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
