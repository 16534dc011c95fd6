// Where a wave's results go: rows of the output tensor, or a partial slot of the workspace.
#pragma once

#include "hip/attention.h"

namespace attnplan::hip {

template <class T>
struct RowWriter {
  using Mma = typename T::Mma;
  // A lane holds runs of consecutive elements of a row.
  static constexpr int kRun = T::kShuffle ? Mma::kColumns : T::kVRun;
  static constexpr int kRuns = T::kHeadV / (Mma::kGroups * kRun);

  ATTNPLAN_DEVICE static int element(int lane, int run) {
    if constexpr (T::kShuffle) return T::v_element(run, Mma::column(lane, 0));
    return T::v_element(run / Mma::kColumns * T::kVRun, Mma::column(lane, run % Mma::kColumns));
  }
  // Element `j` of run `run` of the lane's row `s`.
  ATTNPLAN_DEVICE static float value(const float (&out)[T::kVTiles][4], int s, int run, int j) {
    if constexpr (T::kShuffle) return out[run][j + s * Mma::kColumns];
    return out[run / Mma::kColumns * T::kVRun + j][run % Mma::kColumns + s * Mma::kColumns];
  }

  // Row `s` of query tile `i`: normalised outputs, and the log-sum-exp, base 2.
  ATTNPLAN_DEVICE static void write(const AttentionArgs& args, const WaveTask& task, int32_t slot,
                                    int i, int s, float lse, const float (&out)[T::kVTiles][4],
                                    int lane) {
    const int32_t packed = task.first_packed + 16 * i + Mma::query(lane, s);
    int32_t row, head;
    if (!Attention<T>::locate(args, task, packed, &row, &head)) return;
    if (slot >= 0) {
      const int64_t index = int64_t{slot} * args.query_tile + packed;
      write_partial(args.partial_out + index * T::kHeadV, s, out, lane);
      if (Mma::group(lane) == 0) args.partial_lse[index] = lse;
      return;
    }
    const int64_t tensor_row = task.first_row + row;
    write_final(args, args.out + tensor_row * args.out_row_stride + head * args.out_head_stride, s,
                out, lane);
    if (args.lse != nullptr && Mma::group(lane) == 0) {
      args.lse[tensor_row * args.lse_row_stride + head] = lse * kLn2;
    }
  }

 private:
  ATTNPLAN_DEVICE static void write_partial(float* to, int s, const float (&out)[T::kVTiles][4],
                                            int lane) {
    constexpr int kWords = kRun % 4 == 0 ? 4 : 2;
    ATTNPLAN_UNROLL for (int run = 0; run < kRuns; ++run) {
      ATTNPLAN_UNROLL for (int j = 0; j < kRun; j += kWords) {
        Words<kWords> words;
        ATTNPLAN_UNROLL for (int w = 0; w < kWords; ++w) {
          words.w[w] = bits_of(value(out, s, run, j + w));
        }
        store_words<kWords>(to + element(lane, run) + j, words);
      }
    }
  }

  ATTNPLAN_DEVICE static void write_final(const AttentionArgs& args, uint16_t* to, int s,
                                          const float (&out)[T::kVTiles][4], int lane) {
    constexpr int kWords = kRun >= 8 ? 4 : kRun / 2;
    ATTNPLAN_UNROLL for (int run = 0; run < kRuns; ++run) {
      ATTNPLAN_UNROLL for (int j = 0; j < kRun; j += 2 * kWords) {
        Words<kWords> words;
        ATTNPLAN_UNROLL for (int w = 0; w < kWords; ++w) {
          const float low = value(out, s, run, j + 2 * w) * args.v_scale;
          const float high = value(out, s, run, j + 2 * w + 1) * args.v_scale;
          words.w[w] = args.q_is_bf16 != 0 ? pack_bf16(low, high) : pack_fp16(low, high);
        }
        store_words<kWords>(to + element(lane, run) + j, words);
      }
    }
  }
};

}  // namespace attnplan::hip
