// What the planner may dispatch to the kernels of kernels.inc: the facts of their contracts, as
// constants. Profile `hip` (src/planner/profiles.cc) and attnplan_hip_contracts are made of them.
#pragma once

#include <array>
#include <cstddef>

#include "hip/kernel_list.h"

namespace attnplan::hip {

inline constexpr int32_t kQueryTile = 64;  // packed rows of a work item's tile
inline constexpr int32_t kKvTile = 128;    // tokens
inline constexpr int32_t kMaxDecodeRows = 16;
inline constexpr int32_t kM3BlockTokens = 128;
inline constexpr std::array<int32_t, 4> kPageSizes = {16, 32, 64, 128};
inline constexpr std::array<int32_t, 16> kGroups = {1, 2,  3,  4,  5,  6,  7,  8,
                                                    9, 10, 11, 12, 13, 14, 15, 16};
inline constexpr std::array<const char*, 4> kArchs = {"gfx90a", "gfx942", "gfx950", "sm_90"};
inline constexpr uint32_t kLayouts = (1u << ATTNPLAN_LAYOUT_MLA) - 1;  // all in front of it
inline constexpr uint32_t kMasks = 1u << ATTNPLAN_MASK_CAUSAL | 1u << ATTNPLAN_MASK_FULL;
inline constexpr uint32_t kCausal = 1u << ATTNPLAN_MASK_CAUSAL;
inline constexpr uint32_t kFeatures = ATTNPLAN_FEATURE_LSE | ATTNPLAN_FEATURE_SOFT_CAP;
// Scales of single tokens are applied where bytes are converted anyway.
inline constexpr uint32_t kScalesOf16Bit = 1u << ATTNPLAN_SCALE_NONE | 1u << ATTNPLAN_SCALE_TENSOR;
inline constexpr uint32_t kScales = kScalesOf16Bit | 1u << ATTNPLAN_SCALE_TOKEN_HEAD;

struct KernelRoute {
  const char* name;
  attnplan_route route;
  int32_t max_query_len;  // rows; 0: any
};
// In order of preference. One kernel of the work list serves all three routes; a decode is a short
// row count, and an extend without context is a prefill.
inline constexpr KernelRoute kDenseRoutes[] = {
    {"paged_decode", ATTNPLAN_ROUTE_DECODE, kMaxDecodeRows},
    {"paged_extend", ATTNPLAN_ROUTE_EXTEND, 0},
    {"paged_prefill", ATTNPLAN_ROUTE_PREFILL, 0}};
inline constexpr KernelRoute kM3Routes[] = {{"m3_decode", ATTNPLAN_ROUTE_DECODE, kMaxDecodeRows},
                                            {"m3_extend", ATTNPLAN_ROUTE_EXTEND, 0},
                                            {"m3_prefill", ATTNPLAN_ROUTE_PREFILL, 0}};

// Pairs of head sizes of some lines, each once, in the order of the lines.
template <size_t kMost>
struct HeadPairs {
  std::array<int32_t, kMost> head_sizes{};
  std::array<int32_t, kMost> v_head_sizes{};
  size_t count = 0;

  constexpr bool has(int32_t head_size, int32_t v_head_size) const {
    for (size_t i = 0; i < count; ++i) {
      if (head_sizes[i] == head_size && v_head_sizes[i] == v_head_size) return true;
    }
    return false;
  }
};

template <size_t kLines>
constexpr HeadPairs<kLines> head_pairs(const KernelKey (&lines)[kLines]) {
  HeadPairs<kLines> pairs;
  for (const KernelKey& line : lines) {
    if (pairs.has(line.head_size, line.v_head_size)) continue;
    pairs.head_sizes[pairs.count] = line.head_size;
    pairs.v_head_sizes[pairs.count++] = line.v_head_size;
  }
  return pairs;
}
inline constexpr auto kDensePairs = head_pairs(kAttentionLines);
inline constexpr auto kM3Pairs = head_pairs(kM3SparseLines);

// Bits of the cache dtypes of some lines with these head sizes and pages.
template <size_t kLines>
constexpr uint32_t cache_dtypes(const KernelKey (&lines)[kLines], int32_t head_size,
                                int32_t v_head_size, bool shuffle) {
  uint32_t bits = 0;
  for (const KernelKey& line : lines) {
    const bool same = line.head_size == head_size && line.v_head_size == v_head_size;
    if (same && line.shuffle == shuffle) bits |= 1u << line.cache;
  }
  return bits;
}

template <size_t kLines>
constexpr uint32_t all_dtypes(const KernelKey (&lines)[kLines]) {
  uint32_t bits = 0;
  for (const KernelKey& line : lines) bits |= 1u << line.cache;
  return bits;
}

// A contract for all pairs, dtypes and kinds of pages admits every combination of them, so there
// has to be a line for each: else the profile needs more contracts than one a route.
template <size_t kLines>
constexpr bool all_combined(const KernelKey (&lines)[kLines]) {
  for (const KernelKey& line : lines) {
    for (const bool shuffle : {false, true}) {
      if (cache_dtypes(lines, line.head_size, line.v_head_size, shuffle) != all_dtypes(lines)) {
        return false;
      }
    }
  }
  return true;
}
static_assert(
    all_combined(kAttentionLines) && all_combined(kM3SparseLines),
    "kernels.inc lacks a line: a pair of head sizes needs one for every cache dtype of its "
    "list, with shuffle 0 and 1 each (ten lines a pair), as one contract admits them all");

}  // namespace attnplan::hip
