// MiniMax-M3 sparse attention: every row and KV head attends the blocks that were selected for it.
// Where rows are few, several blocks of the grid share one, and m3_merge puts their parts together.
#pragma once

#include "hip/m3_args.h"
#include "hip/paged_attention.h"

namespace attnplan::hip {

// Of a segment, as both kernels see it.
struct M3SparseRows {
  ATTNPLAN_DEVICE M3SparseRows(const AttentionArgs& args, int32_t slots)
      : req_begin(load_uniform(&args.segment->req_begin)),
        begin(load_uniform(&args.segment->row_begin)),
        end(has_segment(args) ? load_uniform(&args.segment->row_end) : begin),
        starts(args.query_start_loc + load_uniform(&args.segment->query_start_loc_begin) -
               req_begin),
        splits(m3_splits(end - begin, args.num_kv_heads, args.top_k, slots)) {}
  // The first slot of a row and KV head.
  ATTNPLAN_DEVICE int32_t slot(int32_t row, int32_t num_kv_heads, int32_t kv_head) const {
    return ((row - begin) * num_kv_heads + kv_head) * splits;
  }

  int32_t req_begin;
  int32_t begin;
  int32_t end;
  const int32_t* starts;  // of request i at [i]
  int32_t splits;
};

template <class T>
class M3Sparse {
 public:
  using Arch = typename T::Arch;

  ATTNPLAN_DEVICE M3Sparse(const M3SparseArgs& args, BlockMemory<T>& memory)
      : args_(args),
        attention_(args.attention),
        rows_(args.attention, args.slots),
        paged_(args.attention, memory),
        lane_(lane_index<Arch>()) {}

  ATTNPLAN_DEVICE void run() {
    const int32_t heads = attention_.num_kv_heads;
    const int32_t units = (rows_.end - rows_.begin) * heads * rows_.splits;
    for (int32_t unit = block_index(); unit < units; unit += grid_blocks()) {
      const int32_t rest = unit / rows_.splits;
      attend(rows_.begin + rest / heads, rest % heads, unit % rows_.splits);
    }
    clear_pads();
  }

 private:
  ATTNPLAN_DEVICE void attend(int32_t row, int32_t head, int32_t split) {
    const int32_t position = load_uniform(args_.row_position + row);
    if (position < 0) return;
    const int32_t request = load_uniform(args_.row_request + row);
    const int32_t own = row - rows_.begin - load_uniform(rows_.starts + request);
    const int32_t* blocks = attention_.selected + head * attention_.selected_head_stride +
                            static_cast<int64_t>(row) * attention_.top_k;
    const int32_t count = selected(blocks);
    const int32_t share = (count + rows_.splits - 1) / rows_.splits;
    const int32_t first = split * share;
    const int32_t left = first < count ? count - first : 0;
    const int32_t slot =
        rows_.splits > 1 ? rows_.slot(row, attention_.num_kv_heads, head) + split : -1;
    paged_.attend({request, head, own, own + 1, 0, position + 1, slot, 0}, head, blocks + first,
                  left < share ? left : share);
  }

  // Of the segment only where m3_merge does not.
  ATTNPLAN_DEVICE void clear_pads() const {
    const AttentionArgs& args = read_again(attention_);
    for (int32_t row = rows_.begin + block_index(); rows_.splits == 1 && row < rows_.end;
         row += grid_blocks()) {
      if (load_uniform(args_.row_position + row) < 0) clear_row<T::kHeadV>(args, row);
    }
    const GraphRows graph(args);
    clear_rows<T::kHeadV>(args, graph.begin, graph.end);
  }

  // Blocks of the list: those in front of the first -1.
  ATTNPLAN_DEVICE int32_t selected(const int32_t* blocks) const {
    const bool none = lane_ < attention_.top_k && blocks[lane_] < 0;
    const auto behind = static_cast<int32_t>(
        wave_maximum<Arch>(none ? static_cast<uint32_t>(attention_.top_k - lane_) : 0u));
    return attention_.top_k - behind;
  }

  const M3SparseArgs& args_;
  const AttentionArgs& attention_;
  const M3SparseRows rows_;
  PagedAttention<T> paged_;
  const int lane_;
};

template <class T>
ATTNPLAN_DEVICE void m3_sparse(const M3SparseArgs& args) {
  ATTNPLAN_SHARED(BlockMemory<T>, memory);
  M3Sparse<T>(args, memory).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
template <Cache kCache, int kHeadK, int kHeadV, bool kShuffle>
ATTNPLAN_LAUNCH_BOUNDS(kAttentionWaves* DeviceArch::kWave, 2)
ATTNPLAN_WAVES_PER_SIMD(attention_waves(kCache, kHeadK)) ATTNPLAN_GLOBAL
    void m3_sparse_kernel(M3SparseArgs args) {
  m3_sparse<AttentionTraits<DeviceArch, kCache, kHeadK, kHeadV, kShuffle, 1>>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
