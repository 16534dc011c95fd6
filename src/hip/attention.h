// Attention of one wave: up to kQueryTiles tiles of 16 packed rows (rows x query heads of one KV
// head) over a range of keys. KV goes from memory to registers in operand layout, once; P stays in
// the registers of its lane; waves do not meet in the loop.
#pragma once

#include "hip/key_block.h"
#include "hip/key_scales.h"
#include "hip/softmax.h"
#include "hip/wave_query.h"

namespace attnplan::hip {

// What the rows of a wave have in common. Positions and keys count from the request's first token.
struct WaveTask {
  int32_t request;
  int32_t kv_head;
  int64_t first_row;  // of the request, in the tensors
  int32_t row_begin;  // rows of the item, from the request's first
  int32_t row_end;
  int32_t first_packed;  // packed row of the item that is the wave's row 0
  int32_t context_len;
  int32_t seq_len;
  int32_t kv_begin;  // keys of the item
  int32_t kv_end;
  int32_t first_step;  // the wave takes steps first_step, first_step + step_stride, ...
  int32_t step_stride;
  const int32_t* blocks;  // of 128 keys, in the order to attend them; NULL: all of [begin, end)
  int32_t num_blocks;
};

template <class T>
struct Attention {
  using Arch = typename T::Arch;
  using Mma = typename T::Mma;
  static constexpr int kQueries = Mma::kQueries;
  static constexpr int kSelectedKeys = 128;  // keys of a selected block

  using Query = WaveQuery<T>;
  Query q;
  float out[T::kQueryTiles][T::kVTiles][4];
  Softmax<T> softmax[T::kQueryTiles];
  // Absolute, -1 behind the clamp of a draft step, where no key is left.
  int32_t position[T::kQueryTiles][kQueries];

  ATTNPLAN_DEVICE static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
  ATTNPLAN_DEVICE static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

  // The tensor row and query head of a packed row of the item; false where there is none.
  ATTNPLAN_DEVICE static bool locate(const AttentionArgs& args, const WaveTask& task,
                                     int32_t packed, int32_t* row, int32_t* head) {
    *row = task.row_begin + packed / args.group;
    *head = task.kv_head * args.group + packed % args.group;
    return *row < task.row_end;
  }

  // A full mask also knows requests without context that have fewer keys than rows.
  ATTNPLAN_DEVICE static bool behind_clamp(const AttentionArgs& args, const WaveTask& task,
                                           int32_t at) {
    return at >= task.seq_len && (args.causal != 0 || task.context_len > 0);
  }

  ATTNPLAN_DEVICE void start(const AttentionArgs& args, const WaveTask& task, int lane) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      softmax[i].start();
      ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
        ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) out[i][m][e] = 0;
      }
      ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) start_row(args, task, i, s, lane);
    }
  }

  ATTNPLAN_DEVICE void start_row(const AttentionArgs& args, const WaveTask& task, int i, int s,
                                 int lane) {
    int32_t row, head;
    const bool exists =
        locate(args, task, task.first_packed + 16 * i + Mma::query(lane, s), &row, &head);
    position[i][s] = task.context_len + row;
    if (behind_clamp(args, task, position[i][s])) position[i][s] = -1;
    const uint16_t* from =
        args.q + (task.first_row + row) * args.q_row_stride + head * args.q_head_stride;
    ATTNPLAN_UNROLL for (int c = 0; c < T::kChunks; ++c) {
      Words<4> words = {{0, 0, 0, 0}};
      if (exists) words = load_words<4>(from + T::k_element(Mma::group(lane), c));
      if constexpr (T::kFp8) {
        if (args.q_is_bf16 != 0) {
          ATTNPLAN_UNROLL for (int w = 0; w < 4; ++w) words.w[w] = bf16_pair_to_fp16(words.w[w]);
        }
      }
      q.store(i, c, s, words);
    }
  }

  // First key of step `step`.
  ATTNPLAN_DEVICE static int32_t step_begin(const WaveTask& task, int32_t step) {
    if (task.blocks == nullptr) return step * T::kStepKeys;
    constexpr int kSteps = kSelectedKeys / T::kStepKeys;
    return load_uniform(task.blocks + step / kSteps) * kSelectedKeys + step % kSteps * T::kStepKeys;
  }

  // What a wave has to look at.
  struct Range {
    int32_t step, last_step;     // of kStepKeys keys; the second exclusive
    int32_t all_begin, all_end;  // keys that every row sees: steps inside need no mask
    int32_t limit;               // nothing was ever written at and behind it
  };

  ATTNPLAN_DEVICE static Range range_of(const AttentionArgs& args, const WaveTask& task) {
    const int32_t rows = 16 * T::kQueryTiles;
    const int32_t first = task.context_len + task.row_begin + task.first_packed / args.group;
    const int32_t last =
        smaller(task.context_len + task.row_end - 1,
                task.context_len + task.row_begin + (task.first_packed + rows - 1) / args.group);
    Range range;
    range.limit = smaller(task.kv_end, task.seq_len);
    int32_t begin = task.kv_begin, end = range.limit;  // keys that some row sees
    range.all_begin = begin;
    range.all_end = behind_clamp(args, task, last) ? 0 : end;
    if (args.causal != 0) {
      end = smaller(end, last + 1);
      range.all_end = smaller(range.all_end, first + 1);
    }
    if (args.sliding_window > 0) {
      begin = larger(begin, first - args.sliding_window + 1);
      range.all_begin = larger(range.all_begin, last - args.sliding_window + 1);
    }
    range.step = begin / T::kStepKeys + task.first_step;
    range.last_step = (end + T::kStepKeys - 1) / T::kStepKeys;
    if (task.blocks != nullptr) {
      range.step = task.first_step;
      range.last_step = task.num_blocks * (kSelectedKeys / T::kStepKeys);
    }
    if (end <= begin) range.last_step = range.step;
    return range;
  }

  // The keys and values in flight or in use.
  struct Stream {
    ATTNPLAN_DEVICE Stream(const AttentionArgs& args, const WaveTask& task)
        : cursor(args, task.request, task.seq_len),
          k_tensor(args.k),
          v_tensor(args.v),
          pages_per_stride(args.pages_per_stride),
          k_base(args.k.data + task.kv_head * args.k.head_stride),
          v_base(args.v.data + task.kv_head * args.v.head_stride),
          scale_log2(args.scale_log2),
          soft_cap_log2(args.soft_cap_log2),
          scaled((args.k_scales.data != nullptr ? kScaledK : 0) |
                 (args.v_scales.data != nullptr ? kScaledV : 0)) {}
    ATTNPLAN_DEVICE void find(const WaveTask& task, int32_t step) {
      next = step_begin(task, step);
      next_pages.load(cursor, next);
    }
    ATTNPLAN_DEVICE void fetch_keys(const AttentionArgs& args, const WaveTask& task, int lane) {
      k.load(k_tensor, pages_per_stride, k_base, cursor, next_pages, next, lane);
      if constexpr (T::kFp8) {
        if (has(kScaledK)) {
          k_scales.load(read_again(args).k_scales, pages_per_stride, task.kv_head, cursor,
                        next_pages, next, lane);
        }
      }
      prefetch_fence();
      schedule_fence();
    }
    // And makes the step that was the next one the current one.
    ATTNPLAN_DEVICE void fetch_values(const AttentionArgs& args, const WaveTask& task, int lane) {
      schedule_fence();
      v.load(v_tensor, pages_per_stride, v_base, cursor, next_pages, next, lane);
      if constexpr (T::kFp8) {
        if (has(kScaledV)) {
          v_scales.load(read_again(args).v_scales, pages_per_stride, task.kv_head, cursor,
                        next_pages, next, lane);
        }
      }
      prefetch_fence();
      key = next;
    }

    const PageCursor cursor;
    // Copies of arguments, which are loaded ahead of the loop then.
    const CacheTensor k_tensor;
    const CacheTensor v_tensor;
    const int32_t pages_per_stride;
    const uint8_t* const k_base;  // of the head, in page 0
    const uint8_t* const v_base;
    const float scale_log2;
    const float soft_cap_log2;
    // By scales of single tokens; one register for both, where two conditions would take four.
    static constexpr int kScaledK = 1, kScaledV = 2;
    const int scaled;
    ATTNPLAN_DEVICE bool has(int what) const { return (uniform_here(scaled) & what) != 0; }
    int32_t key, next;  // the first of the current and of the next step
    StepPages<T> next_pages;
    KeyRegisters<T> k;
    ValueRegisters<T> v;
    KeyScales<T> k_scales;
    KeyScales<T> v_scales;
  };

  // K of the next step is fetched while V of the current one is on its way and in use, V after
  // that, while K is: this order, which fences keep, is what keeps the memory busy.
  ATTNPLAN_DEVICE void run(const AttentionArgs& args, const WaveTask& task, int lane) {
    Range range = range_of(args, task);
    if (range.step >= range.last_step) return;
    Stream stream(args, task);
    stream.find(task, range.step);
    stream.fetch_keys(args, task, lane);
    stream.fetch_values(args, task, lane);
    while (range.step + task.step_stride < range.last_step) {
      range.step += task.step_stride;
      stream.find(task, range.step);
      advance<true>(args, task, range, lane, stream);
      stream.fetch_values(args, task, lane);
    }
    // The last step by itself: a branch around a load in the loop would cost AMD's compiler its
    // count of the loads in flight.
    advance<false>(args, task, range, lane, stream);
  }

  // Attends the current step; kMore: and fetches the keys of the next one.
  template <bool kMore>
  ATTNPLAN_DEVICE void advance(const AttentionArgs& args, const WaveTask& task, const Range& range,
                               int lane, Stream& stream) {
    const int32_t key = stream.key;
    float scores[T::kQueryTiles][T::kBlocks][Mma::kTiles][4];
    score(stream.k, scores);
    schedule_fence();
    if constexpr (T::kFp8) {  // scales of single tokens: K's belong to the scores, V's to P
      if (stream.has(Stream::kScaledK)) stream.k_scales.apply(lane_here<Arch>(), scores);
    }
    if constexpr (kMore) stream.fetch_keys(args, task, lane);
    float scale = stream.scale_log2;
    if (stream.soft_cap_log2 > 0) {
      cap(scale, stream.soft_cap_log2, scores);
      scale = 1.0f;
    }
    if (key < range.all_begin || key + T::kStepKeys > range.all_end) {
      // Rare steps; that they be quick counts less than that they take no register from the others.
      mask(read_again(args), task, key, lane_here<Arch>(), scores);
      schedule_fence();
      stream.v.clear_from(range.limit - key, lane_here<Arch>());
    }
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      softmax[i].step(scale, scores[i], out[i]);
    }
    if constexpr (T::kFp8) {
      if (stream.has(Stream::kScaledV)) {
        stream.v_scales.clear_from(range.limit - key, lane_here<Arch>());
        stream.v_scales.apply(lane_here<Arch>(), scores);
      }
    }
    accumulate(stream.v, scores);
  }

  ATTNPLAN_DEVICE void score(const KeyRegisters<T>& k,
                             float (&scores)[T::kQueryTiles][T::kBlocks][Mma::kTiles][4]) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      Softmax<T>::for_each([&](int u, int t, int e) { scores[i][u][t][e] = 0; });
    }
    if constexpr (T::kSharedQuery) reload_fence();
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
        ATTNPLAN_UNROLL for (int c = 0; c < T::kChunks; ++c) {
          const Words<4> key = k.chunk(u, t, c);
          ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
            Words<4> query[kQueries];
            q.load(i, c, query);
            Mma::score(key, query, scores[i][u][t]);
          }
        }
      }
    }
  }

  // cap * tanh(score / cap), times log2(e); `scale` has the division.
  ATTNPLAN_DEVICE static void cap(float scale, float cap_log2,
                                  float (&scores)[T::kQueryTiles][T::kBlocks][Mma::kTiles][4]) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      Softmax<T>::for_each([&](int u, int t, int e) {
        constexpr float kTwoLog2E = 2.8853900817779268f;
        const float power = exp2_approx(scores[i][u][t][e] * (scale * kTwoLog2E));
        scores[i][u][t][e] = cap_log2 * (1.0f - 2.0f * reciprocal_approx(power + 1.0f));
      });
    }
  }

  ATTNPLAN_DEVICE void mask(const AttentionArgs& args, const WaveTask& task, int32_t key, int lane,
                            float (&scores)[T::kQueryTiles][T::kBlocks][Mma::kTiles][4]) const {
    const int own = key + Mma::kKeys * Mma::group(lane);
    const float hidden = float_of(computed_here(bits_of(kMinusInfinity)));
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      int32_t first[kQueries];   // the lane's first key, from the first that the row sees
      uint32_t count[kQueries];  // keys that the row sees
      ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) {
        const int32_t at = computed_here(position[i][s]);
        int32_t begin = task.kv_begin;
        int32_t end = at < 0 ? 0 : smaller(task.kv_end, task.seq_len);
        if (args.causal != 0) end = smaller(end, at + 1);
        if (args.sliding_window > 0) begin = larger(begin, at - args.sliding_window + 1);
        first[s] = own - begin;
        count[s] = static_cast<uint32_t>(larger(end - begin, 0));
      }
      Softmax<T>::for_each([&](int u, int t, int e) {
        const int s = Mma::query_slot(e);
        const int seen = first[s] + u * T::kBlockKeys + Mma::key_slot(t, e);
        if (static_cast<uint32_t>(seen) >= count[s]) scores[i][u][t][e] = hidden;
        schedule_fence();
      });
    }
  }

  ATTNPLAN_DEVICE void accumulate(
      const ValueRegisters<T>& v,
      const float (&scores)[T::kQueryTiles][T::kBlocks][Mma::kTiles][4]) {
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      typename Mma::Pack p[T::kQueryTiles];
      ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
        ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
          p[i].w[2 * t] = pack<typename T::Element>(scores[i][u][t][0], scores[i][u][t][1]);
          p[i].w[2 * t + 1] = pack<typename T::Element>(scores[i][u][t][2], scores[i][u][t][3]);
        }
      }
      ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) keep_in_registers(p[i]);
      schedule_fence();  // columns of V made ahead would take registers while scores still have
                         // some
      ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
        const typename Mma::VColumn column = v.column(u, m);
        ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
          Mma::output(p[i], column, out[i][m]);
        }
      }
    }
  }
};

}  // namespace attnplan::hip
