// kernels.inc as constants, for whoever wants to know what there is: no kernel, no runtime.
#pragma once

#include <cstdint>

#include "attnplan_types.h"

namespace attnplan::hip {

// The words of kernels.inc.
namespace cache_word {
inline constexpr attnplan_dtype kBf16 = ATTNPLAN_DTYPE_BF16, kFp16 = ATTNPLAN_DTYPE_FP16,
                                kE4m3fn = ATTNPLAN_DTYPE_E4M3FN,
                                kE4m3fnuz = ATTNPLAN_DTYPE_E4M3FNUZ, kE5m2 = ATTNPLAN_DTYPE_E5M2;
}  // namespace cache_word

// What tells one line from another. Zero where a kind of kernel does not vary.
struct KernelKey {
  attnplan_dtype cache;  // what the bytes of the cache are
  int32_t head_size;     // of Q and K
  int32_t v_head_size;
  bool shuffle;
  int32_t tiles;

  bool operator==(const KernelKey&) const = default;
};

// Each in the order of kernels.inc.
inline constexpr KernelKey kAttentionLines[] = {
#define ATTNPLAN_ATTENTION(part, cache, head_size, v_head_size, shuffle, tiles) \
  {cache_word::cache, head_size, v_head_size, shuffle != 0, tiles},
#include "hip/kernels.inc"
};
inline constexpr KernelKey kKvWriteLines[] = {
#define ATTNPLAN_KV_WRITE(part, cache) {cache_word::cache, 0, 0, false, 0},
#include "hip/kernels.inc"
};
inline constexpr KernelKey kM3IndexLines[] = {
#define ATTNPLAN_M3_INDEX(part, cache, head_size, tiles) \
  {cache_word::cache, head_size, 0, false, tiles},
#include "hip/kernels.inc"
};
inline constexpr KernelKey kM3SparseLines[] = {
#define ATTNPLAN_M3_SPARSE(part, cache, head_size, v_head_size, shuffle) \
  {cache_word::cache, head_size, v_head_size, shuffle != 0, 0},
#include "hip/kernels.inc"
};

constexpr bool is_16_bit(attnplan_dtype dtype) {
  return dtype == ATTNPLAN_DTYPE_BF16 || dtype == ATTNPLAN_DTYPE_FP16;
}
// A 16-bit cache is of the dtype of q, fp8 serves either.
constexpr bool serves_query(attnplan_dtype cache, attnplan_dtype q) {
  return !is_16_bit(cache) || cache == q;
}

}  // namespace attnplan::hip
