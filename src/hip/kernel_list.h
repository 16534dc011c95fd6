// kernels.inc as constants, for whoever wants to know what there is: no kernel, no runtime.
#pragma once

#include <cstddef>
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

// What a line may say. Here rather than in the kernels, so that a wrong line is refused wherever
// the list is read; docs/hacking.md says what else a new line needs.
template <size_t kLines>
constexpr bool each_once(const KernelKey (&lines)[kLines]) {
  for (size_t i = 0; i < kLines; ++i) {
    for (size_t other = 0; other < i; ++other) {
      if (lines[i] == lines[other]) return false;
    }
  }
  return true;
}

// Chunks of 64 elements, of which kv_write takes one head in a wave of 32 lanes.
constexpr bool is_head_size(int32_t size) { return size > 0 && size % 64 == 0 && size <= 256; }

template <size_t kLines>
constexpr bool heads_are_whole(const KernelKey (&lines)[kLines], bool has_v) {
  for (const KernelKey& line : lines) {
    if (!is_head_size(line.head_size) || (has_v && !is_head_size(line.v_head_size))) return false;
  }
  return true;
}

template <size_t kLines>
constexpr bool tiles_are_within(const KernelKey (&lines)[kLines], int32_t most) {
  for (const KernelKey& line : lines) {
    if (line.tiles < 1 || line.tiles > most) return false;
  }
  return true;
}

// Launches fall back on one tile.
template <size_t kLines>
constexpr bool all_have_one_tile(const KernelKey (&lines)[kLines]) {
  for (const KernelKey& line : lines) {
    bool found = false;
    for (const KernelKey& other : lines) {
      found = found ||
              (other.tiles == 1 && other.cache == line.cache && other.head_size == line.head_size);
    }
    if (!found) return false;
  }
  return true;
}

static_assert(each_once(kAttentionLines) && each_once(kKvWriteLines) && each_once(kM3IndexLines) &&
                  each_once(kM3SparseLines),
              "kernels.inc has two lines for the same kernel (the part does not tell them apart): "
              "remove one");
static_assert(heads_are_whole(kAttentionLines, true) && heads_are_whole(kM3IndexLines, false) &&
                  heads_are_whole(kM3SparseLines, true),
              "kernels.inc has a head size that is no multiple of 64 up to 256: the kernels read "
              "heads in chunks of 64 elements, so list the next multiple or none");
static_assert(tiles_are_within(kAttentionLines, 1),
              "kernels.inc has an ATTNPLAN_ATTENTION line with other tiles than 1: no launch asks "
              "for them (launch_check.cc), so write 1");
static_assert(tiles_are_within(kM3IndexLines, 2),
              "kernels.inc has an ATTNPLAN_M3_INDEX line with other tiles than 1 or 2: no launch "
              "asks for them (select_check.cc)");
static_assert(
    all_have_one_tile(kM3IndexLines),
    "kernels.inc has an ATTNPLAN_M3_INDEX line with tiles 2 but none with tiles 1 for the "
    "same cache and head size: decodes need it, so add it");

}  // namespace attnplan::hip
