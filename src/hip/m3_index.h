// Block scores of the MiniMax-M3 index: for every row and index head the largest product of its
// query with a key of each block that it sees. Waves share out all (query tile, block) pairs of the
// segment evenly, so that one long request fills the device.
#pragma once

#include "hip/key_block.h"
#include "hip/m3_args.h"
#include "hip/pad_rows.h"

namespace attnplan::hip {

template <class Arch_, Cache kCache_, int kHead_, int kTiles_>
struct M3IndexTraits : AttentionTraits<Arch_, kCache_, kHead_, kHead_, false, kTiles_> {
  using Base = AttentionTraits<Arch_, kCache_, kHead_, kHead_, false, kTiles_>;
  // Two steps are in registers: 8 KiB of keys each where these are many, else 4.
  static constexpr int kBlocks =
      (Arch_::kVectorRegisters < 512 ? 4096 : 8192) / (Base::kBlockKeys * kHead_ * Base::kBytes);
  static constexpr int kStepKeys = kBlocks * Base::kBlockKeys;
  static constexpr int kPages = kStepKeys / 16;
  static constexpr int kSteps = kM3BlockKeys / kStepKeys;  // of a block
  static_assert(kSteps % 2 == 0);
  static constexpr int kTileRows = 16 * kTiles_;  // packed rows of a query tile
};

// The (query tile, block) pairs of one request in a row. Later tiles see more blocks: the last tile
// is followed by the first, the one before the last by the second, and so on, so that every couple
// takes the same share, `width`.
struct M3IndexWork {
  int32_t rows;
  int32_t context_len;
  int32_t seq_len;
  int32_t group;
  int32_t tile_rows;
  int32_t tiles;
  int32_t width;
  int32_t total;

  ATTNPLAN_DEVICE M3IndexWork(int32_t rows_, int32_t context, int32_t seq, int32_t group_,
                              int32_t tile_rows_)
      : rows(rows_), context_len(context), seq_len(seq), group(group_), tile_rows(tile_rows_) {
    tiles = (rows * group + tile_rows - 1) / tile_rows;
    width = tiles > 1 ? blocks(0) + blocks(tiles - 1) + 1 : blocks(0);
    total = (tiles + 1) / 2 * width;
  }
  ATTNPLAN_DEVICE int32_t last_row(int32_t tile) const {
    const int32_t row = ((tile + 1) * tile_rows - 1) / group;
    return row < rows ? row : rows - 1;
  }
  // Keys that some row of the tile sees.
  ATTNPLAN_DEVICE int32_t keys(int32_t tile) const {
    const int32_t end = context_len + last_row(tile) + 1;
    return end < seq_len ? end : seq_len;
  }
  ATTNPLAN_DEVICE int32_t blocks(int32_t tile) const {
    return rows > 0 ? (keys(tile) + kM3BlockKeys - 1) / kM3BlockKeys : 0;
  }
};

template <class T>
class M3IndexScores {
 public:
  using Arch = typename T::Arch;
  using Mma = typename T::Mma;
  static constexpr int kQueries = Mma::kQueries;

  ATTNPLAN_DEVICE explicit M3IndexScores(const M3IndexArgs& args)
      : args_(args),
        index_(args.index),
        req_begin_(load_uniform(&args.index.segment->req_begin)),
        req_end_(has_segment(args.index) ? load_uniform(&args.index.segment->req_end) : req_begin_),
        row_begin_(load_uniform(&args.index.segment->row_begin)),
        starts_(args.index.query_start_loc +
                load_uniform(&args.index.segment->query_start_loc_begin) - req_begin_),
        lane_(lane_index<Arch>()) {}

  ATTNPLAN_DEVICE void run() {
    int32_t sum = 0;
    for (int32_t i = req_begin_ + lane_; i < req_end_; i += Arch::kWave) sum += work_of(i).total;
    for (int mask = 1; mask < Arch::kWave; mask *= 2) {
      sum += static_cast<int32_t>(shuffle_xor<Arch>(static_cast<uint32_t>(sum), mask));
    }
    const int64_t total = uniform<Arch>(sum);
    const int waves = grid_blocks() * kM3IndexWaves;
    const int wave = block_index() * kM3IndexWaves + wave_index<Arch>();
    const auto begin = static_cast<int32_t>(total * wave / waves);
    const auto end = static_cast<int32_t>(total * (wave + 1) / waves);
    int32_t before = 0;  // pairs of the requests so far
    for (int32_t i = req_begin_; i < req_end_ && before < end; i += Arch::kWave) {
      before = score_requests(i, before, begin, end);
    }
  }

 private:
  ATTNPLAN_DEVICE M3IndexWork work_of(int32_t request) const {
    return {starts_[request + 1] - starts_[request], index_.context_lens[request],
            index_.seq_lens[request], index_.group, T::kTileRows};
  }

  // Pairs [begin, end) as far as they belong to the wave's next requests, one a lane. Returns the
  // pairs up to and including those requests.
  ATTNPLAN_DEVICE int32_t score_requests(int32_t first, int32_t before, int32_t begin,
                                         int32_t end) {
    const int32_t request = first + lane_;
    const int32_t own = request < req_end_ ? work_of(request).total : 0;
    int32_t after = before + own;  // of the lanes up to and including this one
    for (int distance = 1; distance < Arch::kWave; distance *= 2) {
      const int from = lane_ >= distance ? lane_ - distance : lane_;
      const uint32_t sum = shuffle<Arch>(static_cast<uint32_t>(after - before), from);
      if (lane_ >= distance) after += static_cast<int32_t>(sum);
    }
    for (int next = 0;;) {
      // The next lane whose request has some of the pairs.
      const bool wanted = lane_ >= next && own > 0 && after > begin && after - own < end;
      const auto found = static_cast<int>(
          wave_maximum<Arch>(wanted ? static_cast<uint32_t>(Arch::kWave - lane_) : 0u));
      if (found == 0) break;
      const int lane = Arch::kWave - found;
      const int32_t to = uniform<Arch>(value_of(after, lane));
      const int32_t from = to - uniform<Arch>(value_of(own, lane));
      score_pairs(first + lane, larger(begin, from) - from, smaller(end, to) - from);
      next = lane + 1;
    }
    return uniform<Arch>(value_of(after, Arch::kWave - 1));
  }
  ATTNPLAN_DEVICE static int32_t value_of(int32_t value, int lane) {
    return static_cast<int32_t>(shuffle<Arch>(static_cast<uint32_t>(value), lane));
  }
  ATTNPLAN_DEVICE static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
  ATTNPLAN_DEVICE static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

  // Pairs [begin, end) of one request.
  ATTNPLAN_DEVICE void score_pairs(int32_t request, int32_t begin, int32_t end) {
    const int32_t start = load_uniform(starts_ + request);
    const M3IndexWork work(load_uniform(starts_ + request + 1) - start,
                           load_uniform(index_.context_lens + request),
                           load_uniform(index_.seq_lens + request), index_.group, T::kTileRows);
    while (begin < end) {
      const int32_t couple = begin / work.width, at = begin % work.width;
      int32_t tile = work.tiles - 1 - couple, first = at;
      int32_t limit = work.blocks(tile), count = limit - at;
      if (count <= 0) {  // behind the last blocks of the longer tile
        first = at - limit;
        count = work.width - at;
        limit = tile != couple ? work.blocks(couple) : 0;
        tile = couple;
      }
      count = smaller(count, end - begin);
      const int32_t last = smaller(smaller(first + count, limit), args_.max_blocks);
      if (first < last) {
        score_run(work, request, row_begin_ + start, tile, first, last);
      }
      begin += count;
    }
  }

  // One lane's share of the query tile.
  struct Rows {
    Words<4> q[T::kQueryTiles][T::kChunks][kQueries];
    int32_t visible[T::kQueryTiles][kQueries];  // keys
    float best[T::kQueryTiles][kQueries];
    float* scores[T::kQueryTiles][kQueries];  // of block 0; NULL: no such row
  };
  template <class F>
  ATTNPLAN_DEVICE static void for_each_row(F f) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) f(i, s);
    }
  }
  using Scores = float[T::kQueryTiles][T::kBlocks][Mma::kTiles][4];

  ATTNPLAN_DEVICE void load_rows(const M3IndexWork& work, int64_t first_row, int32_t tile,
                                 Rows& rows) const {
    for_each_row([&](int i, int s) {
      const int32_t packed = tile * T::kTileRows + 16 * i + Mma::query(lane_, s);
      const int32_t row = packed / work.group, head = packed % work.group;
      const bool exists = row < work.rows;
      const int32_t keys = work.context_len + row + 1;
      rows.visible[i][s] = keys <= work.seq_len ? keys : 0;  // behind a clamp: no key
      rows.best[i][s] = kNothing;
      rows.scores[i][s] = exists ? args_.scores + head * args_.scores_head_stride +
                                       (first_row + row) * args_.max_blocks
                                 : nullptr;
      const uint16_t* from =
          index_.q + (first_row + row) * index_.q_row_stride + head * index_.q_head_stride;
      ATTNPLAN_UNROLL for (int c = 0; c < T::kChunks; ++c) {
        Words<4>& words = rows.q[i][c][s];
        words = Words<4>{{0, 0, 0, 0}};
        if (exists) words = load_words<4>(from + T::k_element(Mma::group(lane_), c));
        if constexpr (T::kFp8) {
          if (index_.q_is_bf16 != 0) {
            ATTNPLAN_UNROLL for (int w = 0; w < 4; ++w) words.w[w] = bf16_pair_to_fp16(words.w[w]);
          }
        }
        keep_in_registers(words);
      }
    });
  }

  // Blocks [first, last) for one query tile.
  ATTNPLAN_DEVICE void score_run(const M3IndexWork& work, int32_t request, int64_t first_row,
                                 int32_t tile, int32_t first, int32_t last) {
    Rows rows;
    load_rows(work, first_row, tile, rows);
    const int32_t first_packed_row = tile * T::kTileRows / work.group;
    const int32_t all_see = work.context_len + first_packed_row + 1;  // every row of the tile
    const int32_t all_end = work.context_len + work.last_row(tile) < work.seq_len ? all_see : 0;
    const int32_t end = uniform<Arch>(
        smaller(last * T::kSteps, (work.keys(tile) + T::kStepKeys - 1) / T::kStepKeys));

    // Two steps are in flight at any time. Where their number is odd the last one counts twice, and
    // what is fetched behind it is that step again, so that no load needs a condition.
    const PageCursor cursor(index_, request, work.seq_len);
    KeyRegisters<T> even, odd;
    fetch(cursor, first * T::kSteps, even);
    fetch(cursor, smaller(first * T::kSteps + 1, end - 1), odd);
    for (int32_t step = first * T::kSteps; step < end; step += 2) {
      advance(rows, cursor, step, end, all_end, even);
      advance(rows, cursor, smaller(step + 1, end - 1), end, all_end, odd);
      if (step + 2 >= end || (step + 2) % T::kSteps == 0) write(rows, step / T::kSteps);
    }
  }

  ATTNPLAN_DEVICE void fetch(const PageCursor& cursor, int32_t step, KeyRegisters<T>& k) const {
    StepPages<T> pages;
    pages.load(cursor, step * T::kStepKeys);
    k.load(index_.k, index_.pages_per_stride, index_.k.data, cursor, pages, step * T::kStepKeys,
           lane_);
    prefetch_fence();
    schedule_fence();
  }

  // Scores a step, and fetches the keys of the one after the next.
  ATTNPLAN_DEVICE void advance(Rows& rows, const PageCursor& cursor, int32_t step, int32_t end,
                               int32_t all_end, KeyRegisters<T>& k) const {
    const int32_t next = smaller(step + 2, end - 1);
    StepPages<T> pages;
    pages.load(cursor, next * T::kStepKeys);
    Scores scores;
    score(rows, k, scores);
    schedule_fence();
    k.load(index_.k, index_.pages_per_stride, index_.k.data, cursor, pages, next * T::kStepKeys,
           lane_);
    prefetch_fence();
    schedule_fence();
    const int32_t key = step * T::kStepKeys;
    if (key + T::kStepKeys > all_end) mask(rows, key, scores);
    take_best(rows, scores);
  }

  ATTNPLAN_DEVICE static void score(const Rows& rows, const KeyRegisters<T>& k, Scores& scores) {
    for_each_score([&](int i, int u, int t, int e) { scores[i][u][t][e] = 0; });
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
        ATTNPLAN_UNROLL for (int c = 0; c < T::kChunks; ++c) {
          const Words<4> key = k.chunk(u, t, c);
          ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
            Mma::score(key, rows.q[i][c], scores[i][u][t]);
          }
        }
      }
    }
  }
  ATTNPLAN_DEVICE void mask(const Rows& rows, int32_t key, Scores& scores) const {
    const int own = key + Mma::kKeys * Mma::group(lane_);
    for_each_score([&](int i, int u, int t, int e) {
      const int seen = own + u * T::kBlockKeys + Mma::key_slot(t, e);
      if (seen >= rows.visible[i][Mma::query_slot(e)]) scores[i][u][t][e] = kNothing;
    });
  }
  ATTNPLAN_DEVICE static void take_best(Rows& rows, const Scores& scores) {
    for_each_score([&](int i, int u, int t, int e) {
      float& best = rows.best[i][Mma::query_slot(e)];
      best = maximum_or_nan(best, scores[i][u][t][e]);
    });
  }
  ATTNPLAN_DEVICE void write(Rows& rows, int32_t block) const {
    for_each_row([&](int i, int s) {
      const float best =
          Mma::reduce_keys(rows.best[i][s], [](float a, float b) { return maximum_or_nan(a, b); });
      if (Mma::group(lane_) == 0 && rows.scores[i][s] != nullptr) {
        rows.scores[i][s][block] = best * index_.scale_log2;
      }
      rows.best[i][s] = kNothing;
    });
  }
  template <class F>
  ATTNPLAN_DEVICE static void for_each_score(F f) {
    ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
      ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
        ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
          ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) f(i, u, t, e);
        }
      }
    }
  }

  static constexpr float kNothing = -__builtin_huge_valf();

  const M3IndexArgs& args_;
  const AttentionArgs& index_;
  const int32_t req_begin_;
  const int32_t req_end_;
  const int32_t row_begin_;
  const int32_t* const starts_;  // of request i at [i]
  const int lane_;
};

template <class T>
ATTNPLAN_DEVICE void m3_index_scores(const M3IndexArgs& args) {
  M3IndexScores<T>(args).run();
}

#if !defined(ATTNPLAN_HIP_EMULATED)
template <Cache kCache, int kHeadSize, int kTiles>
ATTNPLAN_LAUNCH_BOUNDS(kM3IndexWaves* DeviceArch::kWave, 2)
ATTNPLAN_GLOBAL void m3_index_scores_kernel(M3IndexArgs args) {
  m3_index_scores<M3IndexTraits<DeviceArch, kCache, kHeadSize, kTiles>>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
