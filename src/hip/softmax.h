// Running softmax of the query rows that a lane holds: of scores that `scale`, above 0, turns into
// powers of two. Every lane of the four
// groups that share a row knows the row's maximum; sums stay per lane until the end.
#pragma once

#include "hip/convert.h"
#include "hip/key_block.h"
#include "hip/registers.h"

namespace attnplan::hip {

constexpr float kMinusInfinity = -__builtin_huge_valf();

template <class T>
struct Softmax {
  using Mma = typename T::Mma;
  using Arch = typename T::Arch;
  static constexpr int kQueries = Mma::kQueries;
  // fp16 loses small values first: P is scaled by 2^8, which the sums are, too.
  static constexpr float kShift = T::Element::kBf16 ? 0.0f : 8.0f;

  // Stands for the maximum of no key: scores of minus infinity stay what they are beside it.
  static constexpr float kFinite = -1.0e30f;

  float maximum[kQueries];
  float sum[kQueries];

  ATTNPLAN_DEVICE void start() {
    ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) {
      maximum[s] = kMinusInfinity;
      sum[s] = 0;
    }
  }

  // Scores of one query tile in, P out; `out` is rescaled where a maximum grew. Most steps need
  // neither the exchange between lanes nor the rescale.
  ATTNPLAN_DEVICE void step(float scale, float (&scores)[T::kBlocks][Mma::kTiles][4],
                            float (&out)[T::kVTiles][4]) {
    float local[kQueries];
    ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) local[s] = kMinusInfinity;
    for_each([&](int u, int t, int e) {
      float& largest = local[Mma::query_slot(e)];
      largest = hip::maximum(largest, scores[u][t][e]);
    });
    bool grew = false;
    ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) grew |= local[s] > maximum[s];
    if (wave_any<Arch>(grew)) {
      float factor[kQueries];
      ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) {
        const float next = Mma::reduce_keys(hip::maximum(local[s], maximum[s]),
                                            [](float a, float b) { return hip::maximum(a, b); });
        factor[s] = next == kMinusInfinity ? 1.0f : exp2_approx((maximum[s] - next) * scale);
        maximum[s] = next;
        sum[s] *= factor[s];
      }
      ATTNPLAN_UNROLL for (int m = 0; m < T::kVTiles; ++m) {
        ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) out[m][e] *= factor[Mma::query_slot(e)];
      }
    }
    float base[kQueries];
    ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) {
      base[s] = hip::maximum(maximum[s], kFinite) * scale - kShift;
    }
    for_each([&](int u, int t, int e) {
      const int s = Mma::query_slot(e);
      scores[u][t][e] = exp2_approx(scores[u][t][e] * scale - base[s]);
      sum[s] += scores[u][t][e];
    });
    // Now, not whenever there is time: until then the terms take registers.
    ATTNPLAN_UNROLL for (int s = 0; s < kQueries; ++s) sum[s] = computed_here(sum[s]);
  }

  // The row's whole sum, in every lane that shares it.
  ATTNPLAN_DEVICE float total(int slot) const {
    return Mma::reduce_keys(sum[slot], [](float a, float b) { return a + b; });
  }
  // Log-sum-exp, base 2, from a sum that belongs to `largest`, which is scaled.
  ATTNPLAN_DEVICE static float lse(float largest, float whole) {
    const float none = float_of(computed_here(bits_of(kMinusInfinity)));
    return whole > 0 ? largest - kShift + log2_approx(whole) : none;
  }

  template <class F>
  ATTNPLAN_DEVICE static void for_each(F f) {
    ATTNPLAN_UNROLL for (int u = 0; u < T::kBlocks; ++u) {
      ATTNPLAN_UNROLL for (int t = 0; t < Mma::kTiles; ++t) {
        ATTNPLAN_UNROLL for (int e = 0; e < 4; ++e) f(u, t, e);
      }
    }
  }
};

}  // namespace attnplan::hip
