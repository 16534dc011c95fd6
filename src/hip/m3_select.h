// The blocks that a row of MiniMax-M3 attends, from its block scores: forced ones first, then by
// score. A block of threads takes one row and index head at a time; each wave ranks a share of the
// row's blocks, the first wave the best of all. Nothing depends on the order of execution.
#pragma once

#include "hip/m3_args.h"
#include "hip/pad_rows.h"
#include "hip/wave.h"

namespace attnplan::hip {

// What orders blocks: a higher rank first, then the higher block. 0: no block.
struct M3Rank {
  static constexpr uint32_t kInit = 0xffffffffu;
  static constexpr uint32_t kLocal = 0xfffffffeu;
  static constexpr uint32_t kNan = 1;  // below minus infinity

  ATTNPLAN_DEVICE static uint32_t of_score(float score) {
    if (score != score) return kNan;
    const uint32_t bits = bits_of(score + 0.0f);  // there is one zero
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  }
};

struct M3SelectMemory {
  SharedArray<uint32_t, kM3IndexWaves * kM3MaxTopK> rank;
  SharedArray<int32_t, kM3IndexWaves * kM3MaxTopK> block;
};

template <class Arch>
class M3Select {
 public:
  ATTNPLAN_DEVICE M3Select(const M3IndexArgs& args, M3SelectMemory& memory)
      : args_(args),
        memory_(memory),
        heads_(args.index.group),
        lane_(lane_index<Arch>()),
        wave_(wave_index<Arch>()) {}

  ATTNPLAN_DEVICE void run() {
    const int32_t begin = load_uniform(&args_.index.segment->row_begin);
    const int32_t end = load_uniform(&args_.index.segment->row_end);
    const int32_t rows = has_segment(args_.index) ? end - begin : 0;
    const GraphRows graph(args_.index);
    const int32_t units = (rows + graph.end - graph.begin) * heads_;
    for (int32_t unit = block_index(); unit < units; unit += grid_blocks()) {
      const int32_t at = unit / heads_;
      const bool graph_row = at >= rows;
      const int32_t row = graph_row ? graph.begin + at - rows : begin + at;
      select(row, unit % heads_, graph_row ? -1 : load_uniform(args_.row_position + row));
    }
  }

 private:
  static constexpr int kSlots = 8;  // blocks that a lane looks at in a round
  static constexpr int kSharedSlots = (kM3IndexWaves * kM3MaxTopK + Arch::kWave - 1) / Arch::kWave;

  // Candidates of a lane.
  template <int N>
  struct Candidates {
    uint32_t rank[N];
    int32_t block[N];
  };

  // `position` -1: the row attends nothing.
  ATTNPLAN_DEVICE void select(int32_t row, int32_t head, int32_t position) {
    int32_t live = position >= 0 ? position / kM3BlockKeys + 1 : 0;
    if (live > args_.max_blocks) live = args_.max_blocks;
    const float* scores = args_.scores + head * args_.scores_head_stride +
                          static_cast<int64_t>(row) * args_.max_blocks;
    uint32_t rank = 0;
    int32_t block = -1;  // lane j: the j-th best of the wave's blocks so far
    for (int32_t first = wave_ * Arch::kWave; first < live;
         first += kSlots * kM3IndexWaves * Arch::kWave) {
      rank_round(scores, first, live, &rank, &block);
    }
    block_barrier();  // the row before is done with the memory
    if (lane_ < kM3MaxTopK) {
      memory_.rank.store(wave_ * kM3MaxTopK + lane_, rank);
      memory_.block.store(wave_ * kM3MaxTopK + lane_, block);
    }
    block_barrier();
    if (wave_ != 0) return;
    Candidates<kSharedSlots> all;
    ATTNPLAN_UNROLL for (int i = 0; i < kSharedSlots; ++i) {
      all.rank[i] = memory_.rank.load(i * Arch::kWave + lane_);
      all.block[i] = memory_.block.load(i * Arch::kWave + lane_);
    }
    take_best(all, &rank, &block);
    finish(row, head, position, live, block);
  }

  // Puts the wave's next blocks beside its best so far. The lists of other waves have their own.
  ATTNPLAN_DEVICE void rank_round(const float* scores, int32_t first, int32_t live, uint32_t* rank,
                                  int32_t* block) const {
    Candidates<kSlots + 1> all;
    all.rank[kSlots] = *rank;
    all.block[kSlots] = *block;
    ATTNPLAN_UNROLL for (int i = 0; i < kSlots; ++i) {
      const int32_t next = first + i * kM3IndexWaves * Arch::kWave + lane_;
      all.block[i] = next;
      all.rank[i] = next < live ? M3Rank::of_score(scores[next]) : 0;
      if (next < live && next >= live - args_.local_blocks) all.rank[i] = M3Rank::kLocal;
      if (next < live && next < args_.init_blocks) all.rank[i] = M3Rank::kInit;
    }
    take_best(all, rank, block);
  }

  // Lane j gets the j-th best of all candidates of the wave, for j below top_k, others nothing.
  template <int N>
  ATTNPLAN_DEVICE void take_best(Candidates<N>& all, uint32_t* rank, int32_t* block) const {
    *rank = 0;
    *block = -1;
    for (int j = 0; j < args_.top_k; ++j) {
      uint32_t own = 0;
      int32_t own_block = -1;
      ATTNPLAN_UNROLL for (int i = 0; i < N; ++i) {
        const bool better = all.rank[i] > own || (all.rank[i] == own && all.block[i] > own_block);
        if (better) own = all.rank[i];
        if (better) own_block = all.block[i];
      }
      const uint32_t best = wave_maximum<Arch>(own);
      if (best == 0) break;
      const auto winner = static_cast<int32_t>(
          wave_maximum<Arch>(own == best ? static_cast<uint32_t>(own_block) : 0u));
      ATTNPLAN_UNROLL for (int i = 0; i < N; ++i) {
        if (all.block[i] == winner) all.rank[i] = 0;
      }
      if (lane_ == j) {
        *rank = best;
        *block = winner;
      }
    }
  }

  ATTNPLAN_DEVICE void finish(int32_t row, int32_t head, int32_t position, int32_t live,
                              int32_t block) const {
    if (lane_ < args_.top_k) {
      args_.selected[head * args_.selected_head_stride + static_cast<int64_t>(row) * args_.top_k +
                     lane_] = block;
    }
    if (args_.sparse_table != nullptr) emit(row, head, position, live, block);
  }

  // Pages of 16 tokens: those of the full blocks in order of rank, then those of the row's own.
  ATTNPLAN_DEVICE void emit(int32_t row, int32_t head, int32_t position, int32_t live,
                            int32_t block) const {
    constexpr int kBlockPages = kM3BlockKeys / 16;
    const auto selected = static_cast<int32_t>(
        wave_maximum<Arch>(block >= 0 ? static_cast<uint32_t>(lane_ + 1) : 0u));
    const bool is_own = block >= 0 && block == live - 1;
    const auto own = static_cast<int32_t>(  // its place in the order, and one; 0: not selected
        wave_maximum<Arch>(is_own ? static_cast<uint32_t>(lane_ + 1) : 0u));
    const int32_t full = own > 0 ? selected - 1 : selected;
    const int64_t unit = static_cast<int64_t>(row) * heads_ + head;
    if (lane_ == 0) {
      args_.sparse_context[unit] =
          full * kM3BlockKeys + (own > 0 ? position % kM3BlockKeys + 1 : 0);
    }
    const int32_t request = position >= 0 ? args_.row_request[row] : 0;
    for (int32_t first = 0; first < args_.top_k * kBlockPages; first += Arch::kWave) {
      const int32_t at = first + lane_;
      int32_t place = at / kBlockPages;
      if (own > 0 && place >= own - 1) place = place < full ? place + 1 : own - 1;
      const auto of = static_cast<int32_t>(
          shuffle<Arch>(static_cast<uint32_t>(block), place < Arch::kWave ? place : 0));
      const int32_t token = of * kM3BlockKeys + at % kBlockPages * 16;
      const bool used = at / kBlockPages < selected && token <= position;
      if (at < args_.top_k * kBlockPages) {
        args_.sparse_table[unit * args_.top_k * kBlockPages + at] =
            used ? page_of(request, token) * heads_ + head : 0;
      }
    }
  }
  // Of 16 tokens, by the planner's pages, which may be longer.
  ATTNPLAN_DEVICE int32_t page_of(int32_t request, int32_t token) const {
    const AttentionArgs& index = args_.index;
    const int64_t begin = index.page_indptr == nullptr
                              ? static_cast<int64_t>(request) * index.page_table_width
                              : index.page_indptr[request];
    const int32_t page = index.page_indices[begin + (token >> index.page_shift)];
    return page * (1 << (index.page_shift - 4)) + (token & ((1 << index.page_shift) - 1)) / 16;
  }

  const M3IndexArgs& args_;
  M3SelectMemory& memory_;
  const int heads_;
  const int lane_;
  const int wave_;
};

template <class Arch>
ATTNPLAN_DEVICE void m3_index_select(const M3IndexArgs& args) {
  ATTNPLAN_SHARED(M3SelectMemory, memory);
  M3Select<Arch>(args, memory).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
static ATTNPLAN_LAUNCH_BOUNDS(kM3IndexWaves* DeviceArch::kWave, 1) ATTNPLAN_GLOBAL
    void m3_index_select_kernel(M3IndexArgs args) {
  m3_index_select<DeviceArch>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
