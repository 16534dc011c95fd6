// The cost model by which `ragged: auto` chooses. One small formula; its unit is nanoseconds.
//
//   cost = sum over segments of  launch + per_token(route) * KV tokens read
//
// launch: one more kernel in the step (enqueue, fill and drain of the device). KV tokens read: the
// segment's sum of seq_lens, once per KV head. A decode kernel reads every KV token once at the
// bandwidth of the memory; an extend or prefill kernel over few rows a request leaves part of it
// unused (gathers, merges context chunks, tiles that are mostly empty), and the ratio is what
// counts. The figures are those of a 4 TB/s device with 512 bytes a token and KV head (bf16, head
// size 128, K and V); a smaller element or head scales both routes alike, so it does not change the
// order except against `launch`.
#pragma once

#include <cstdint>

#include "attnplan/planner.h"
#include "planner/kernel.h"
#include "planner/route.h"

namespace attnplan {

inline constexpr int64_t kLaunchNanoseconds = 4000;
// Picoseconds per KV token and KV head of 512 bytes: 512 B / 4 TB/s = 128 ps.
inline constexpr int64_t kDecodePicoseconds = 128;
inline constexpr int64_t kExtendPicoseconds = 320;  // 2.5 times a decode's
inline constexpr int64_t kPrefillPicoseconds = 320;

int64_t predicted_nanoseconds(const Config& config, const std::pmr::vector<Kernel>& kernels,
                              const std::pmr::vector<RoutedSegment>& segments);

}  // namespace attnplan
