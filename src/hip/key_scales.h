// float32 scales of single tokens, for the keys of one step of the attention loop.
#pragma once

#include "hip/key_block.h"

namespace attnplan::hip {

// Each lane fetches the scale of one key, together with the keys or values themselves, so that the
// loop never waits for it; lanes get those of their own keys from one another.
template <class T>
struct KeyScales {
  using Mma = typename T::Mma;
  static_assert(T::kStepKeys <= T::Arch::kWave);
  uint32_t bits;  // of key lane % kStepKeys

  // Keys behind the last one are of the same page as the last, or have the last page's scales.
  ATTNPLAN_DEVICE void load(const ScaleTensor& scales, int32_t pages_per_stride, int32_t kv_head,
                            const PageCursor& cursor, const StepPages<T>& pages, int32_t begin,
                            int lane) {
    const int key = lane % T::kStepKeys;
    int32_t id = pages.id[0];
    ATTNPLAN_UNROLL for (int i = 1; i < T::kPages; ++i) id = key >= 16 * i ? pages.id[i] : id;
    const int64_t page = page_offset(scales.block_stride, scales.page_stride, pages_per_stride, id);
    bits = load_words<1>(scales.data + page + kv_head * scales.head_stride +
                         cursor.token(begin + key) * scales.token_stride)
               .w[0];
  }
  // Nothing at or behind key `end` of the step was ever written: P = 0 must not meet a NaN.
  ATTNPLAN_DEVICE void clear_from(int end, int lane) {
    bits = lane % T::kStepKeys < end ? bits : 0;
  }
  // Multiplies each key's scores, or weights.
  ATTNPLAN_DEVICE void apply(int lane,
                             float (&scores)[T::kQueryTiles][T::kBlocks][Mma::kTiles][4]) const {
    const int own = Mma::kKeys * Mma::group(lane);
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
        ATTNPLAN_UNROLL for (int c = 0; c < Mma::kColumns; ++c) {
          const int key = u * T::kBlockKeys + own + Mma::key_slot(t, c);
          const float scale = float_of(shuffle<typename T::Arch>(bits, key));
          ATTNPLAN_UNROLL for (int i = 0; i < T::kQueryTiles; ++i) {
            ATTNPLAN_UNROLL for (int s = 0; s < Mma::kQueries; ++s) {
              scores[i][u][t][c + s * Mma::kColumns] *= scale;
            }
          }
        }
      }
    }
  }
};

}  // namespace attnplan::hip
