// paged_decode and paged_extend: attention over a paged cache by the plan's work list. A block is
// one of the list's workers. Rows come from the items, so batches may be as ragged as they like.
//
// The four waves of a block share an item: as many as there are query tiles take rows, and where
// that leaves waves over, these take every second or every fourth step of the keys and their
// results meet in shared memory at the end of the item.
#pragma once

#include "hip/pad_rows.h"
#include "hip/row_writer.h"

namespace attnplan::hip {

template <class T>
struct BlockMemory {
  VectorMemory<T> vectors;
};

template <class T>
class PagedAttention {
 public:
  using Arch = typename T::Arch;
  using Mma = typename T::Mma;
  using Memory = BlockMemory<T>;
  static constexpr int kWaveRows = 16 * T::kQueryTiles;

  ATTNPLAN_DEVICE PagedAttention(const AttentionArgs& args, Memory& memory)
      : args_(args),
        memory_(memory),
        segment_{args},
        lane_(lane_index<Arch>()),
        wave_(wave_index<Arch>()) {}

  ATTNPLAN_DEVICE void run() {
    const int worker = block_index();
    const int32_t end = load_uniform(args_.worker_indptr + worker + 1);
    for (int32_t i = load_uniform(args_.worker_indptr + worker); i < end; ++i) {
      const attnplan_work_item item = load_item(args_.items + i);
      if (item.request < segment_.req_begin || item.request >= segment_.req_end) continue;
      int32_t head = item.kv_head >= 0 ? item.kv_head : 0;
      const int32_t head_end = item.kv_head >= 0 ? head + 1 : args_.num_kv_heads;
      for (; head < head_end; ++head) attend(item, head);
    }
    clear_pads();
  }

  // One item: rows of one request, one KV head. `blocks`: the only key blocks to attend, or NULL.
  ATTNPLAN_DEVICE void attend(const attnplan_work_item& item, int32_t kv_head,
                              const int32_t* blocks = nullptr, int32_t num_blocks = 0) {
    const int32_t packed = (item.row_end - item.row_begin) * args_.group;
    const int32_t tiles = (packed + kWaveRows - 1) / kWaveRows;  // at most kAttentionWaves
    if (tiles == 0) return;                                      // rows that the device took away
    const int32_t parts = tiles > 2 ? 1 : tiles == 2 ? 2 : 4;
    const int32_t tile = wave_ / parts, part = wave_ % parts;

    WaveTask task;
    task.request = item.request;
    task.kv_head = kv_head;
    task.first_row = segment_.row_begin + query_start(item.request);
    task.row_begin = item.row_begin;
    task.row_end = item.row_end;
    task.first_packed = tile * kWaveRows;
    task.context_len = load_uniform(args_.context_lens + item.request);
    task.seq_len = load_uniform(args_.seq_lens + item.request);
    task.kv_begin = item.kv_begin;
    task.kv_end = item.kv_end;
    task.first_step = part;
    task.step_stride = parts;
    task.blocks = blocks;
    task.num_blocks = num_blocks;

    lane_ = lane_here<Arch>();
    Attention<T> attention;
    attention.q.bind(memory_.vectors, wave_, lane_);
    const bool busy = tile < tiles;
    if (busy) {
      const AttentionArgs& args = read_again(args_);
      attention.start(args, task, lane_);
      attention.run(read_again(args), task, lane_);
    }
    finish(attention, task, item.slot, busy, tile, part, parts);
  }

 private:
  ATTNPLAN_DEVICE static attnplan_work_item load_item(const attnplan_work_item* from) {
    return {load_uniform(&from->request),   load_uniform(&from->kv_head),
            load_uniform(&from->row_begin), load_uniform(&from->row_end),
            load_uniform(&from->kv_begin),  load_uniform(&from->kv_end),
            load_uniform(&from->slot),      0};
  }
  ATTNPLAN_DEVICE int32_t query_start(int32_t request) const {
    return segment_.query_start(args_, request);
  }

  // Puts the parts of a tile together, in the order of the waves, and writes its rows.
  ATTNPLAN_DEVICE void finish(Attention<T>& attention, const WaveTask& task, int32_t slot,
                              bool busy, int tile, int part, int parts) {
    lane_ = lane_here<Arch>();  // what is made of it did not wait in registers during the loop
    float largest[T::kQueryTiles][Mma::kQueries], whole[T::kQueryTiles][Mma::kQueries];
    const float scale = args_.soft_cap_log2 > 0 ? 1.0f : args_.scale_log2;
    for_each_row([&](int i, int s) {
      largest[i][s] = attention.softmax[i].maximum[s] * scale;
      whole[i][s] = busy ? attention.softmax[i].total(s) : 0;
    });
    if (parts > 1)
      exchange(attention, largest, whole, tile, part, parts);
    else if (busy)
      normalise(attention, whole);
    if (!busy || part != parts - 1) return;
    const AttentionArgs& args = read_again(args_);
    for_each_row([&](int i, int s) {
      RowWriter<T>::write(args, task, slot, i, s, Softmax<T>::lse(largest[i][s], whole[i][s]),
                          attention.out[i], lane_);
    });
  }

  // What the kernel wants of the segment.
  struct Segment {
    ATTNPLAN_DEVICE explicit Segment(const AttentionArgs& args)
        : req_begin(load_uniform(&args.segment->req_begin)),
          req_end(requests_end(args, req_begin, load_uniform(&args.segment->req_end))),
          row_begin(load_uniform(&args.segment->row_begin)),
          query_start_loc_begin(load_uniform(&args.segment->query_start_loc_begin)) {}
    // Both are loaded at once, whether the plan has the segment or not.
    ATTNPLAN_DEVICE static int32_t requests_end(const AttentionArgs& args, int32_t begin,
                                                int32_t end) {
      return has_segment(args) ? end : begin;
    }
    ATTNPLAN_DEVICE int32_t query_start(const AttentionArgs& args, int32_t request) const {
      return load_uniform(args.query_start_loc + query_start_loc_begin + request - req_begin);
    }
    int32_t req_begin, req_end, row_begin, query_start_loc_begin;
  };

  template <class F>
  ATTNPLAN_DEVICE static void for_each_row(F f) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      ATTNPLAN_UNROLL for (int s = 0; s < Mma::kQueries; ++s) f(i, s);
    }
  }
  template <class F>
  ATTNPLAN_DEVICE static void for_each_output(F f) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
        ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) f(i, m, e);
      }
    }
  }
  using RowValues = float[T::kQueryTiles][Mma::kQueries];

  ATTNPLAN_DEVICE static void scale_outputs(Attention<T>& attention, const RowValues& factor) {
    for_each_output(
        [&](int i, int m, int e) { attention.out[i][m][e] *= factor[i][Mma::query_slot(e)]; });
  }
  ATTNPLAN_DEVICE static void normalise(Attention<T>& attention, const RowValues& whole) {
    RowValues factor;
    for_each_row([&](int i, int s) { factor[i][s] = whole[i][s] > 0 ? 1.0f / whole[i][s] : 0; });
    scale_outputs(attention, factor);
  }

  // Every wave of the block gets here: tiles of fewer parts than waves fill the block.
  ATTNPLAN_DEVICE void exchange(Attention<T>& attention, RowValues& largest, RowValues& whole,
                                int tile, int part, int parts) {
    // First the maxima and sums, in the memory that the outputs take after them: as much of it as
    // lets two blocks share a compute unit of 64 KiB.
    if constexpr (T::kSharedQuery) block_barrier();  // until then it holds queries in use
    for_each_row([&](int i, int s) {
      if (Mma::group(lane_) != 0) return;
      memory_.vectors.store(row_at(wave_, i, s),
                            Words<4>{{bits_of(largest[i][s]), bits_of(whole[i][s]), 0, 0}});
    });
    block_barrier();
    RowValues factor;
    for_each_row([&](int i, int s) {
      float most = kMinusInfinity, total = 0;
      for (int p = 0; p < parts; ++p) {
        most = maximum(most, float_of(memory_.vectors.load(row_at(tile * parts + p, i, s)).w[0]));
      }
      const float base = most == kMinusInfinity ? 0 : most;
      for (int p = 0; p < parts; ++p) {
        const Words<4> other = memory_.vectors.load(row_at(tile * parts + p, i, s));
        total += float_of(other.w[1]) * exp2_approx(float_of(other.w[0]) - base);
      }
      factor[i][s] = total > 0 ? exp2_approx(largest[i][s] - base) / total : 0;
      largest[i][s] = most;
      whole[i][s] = total;
    });
    scale_outputs(attention, factor);
    part = uniform_here(part);
    block_barrier();
    for (int turn = 0; turn < parts; ++turn) {
      if (turn == part) add_up(attention, tile, turn > 0, turn < parts - 1);
      block_barrier();
    }
  }
  ATTNPLAN_DEVICE int row_at(int wave, int i, int s) const {
    return (wave * T::kQueryTiles + i) * 16 + Mma::query(lane_, s);
  }
  // Each lane has a place of its own for each of its output tiles.
  ATTNPLAN_DEVICE void add_up(Attention<T>& attention, int tile, bool add, bool keep) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
        float(&out)[4] = attention.out[i][m];
        const int at = ((tile * T::kQueryTiles + i) * T::kVTiles + m) * Arch::kWave + lane_;
        Words<4> words;
        if (add) {
          words = memory_.vectors.load(at);
          ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) out[e] += float_of(words.w[e]);
        }
        if (!keep) continue;
        ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) words.w[e] = bits_of(out[e]);
        memory_.vectors.store(at, words);
      }
    }
  }

  // Rows without items: those of requests that have no token, those behind the last request, where
  // the device counted fewer than the host, and those of a full graph.
  ATTNPLAN_DEVICE void clear_pads() {
    const AttentionArgs& args = read_again(args_);
    const Segment segment(args);
    for (int32_t i = segment.req_begin + block_index(); i < segment.req_end; i += grid_blocks()) {
      if (load_uniform(args.seq_lens + i) > 0) continue;
      const int64_t end = segment.row_begin + segment.query_start(args, i + 1);
      for (int64_t row = segment.row_begin + segment.query_start(args, i); row < end; ++row) {
        clear_row<T::kHeadV>(args, row);
      }
    }
    if (segment.req_begin < segment.req_end) {
      clear_rows<T::kHeadV>(args, segment.row_begin + segment.query_start(args, segment.req_end),
                            load_uniform(&args.segment->row_end));
    }
    const GraphRows graph(args);
    clear_rows<T::kHeadV>(args, graph.begin, graph.end);
  }

  const AttentionArgs& args_;
  Memory& memory_;
  const Segment segment_;
  int lane_;
  int wave_;
};

template <class T>
ATTNPLAN_DEVICE void paged_attention(const AttentionArgs& args) {
  ATTNPLAN_SHARED(BlockMemory<T>, memory);
  PagedAttention<T>(args, memory).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
template <Cache kCache, int kHeadK, int kHeadV, bool kShuffle, int kTiles>
ATTNPLAN_LAUNCH_BOUNDS(kAttentionWaves* DeviceArch::kWave, 2)
ATTNPLAN_WAVES_PER_SIMD(kTiles == 1 ? attention_waves(kCache, kHeadK) : 1) ATTNPLAN_GLOBAL
    void paged_attention_kernel(AttentionArgs args) {
  paged_attention<AttentionTraits<DeviceArch, kCache, kHeadK, kHeadV, kShuffle, kTiles>>(
      kernel_args(args));
}
#endif

}  // namespace attnplan::hip
