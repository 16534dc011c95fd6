// How large each part of a plan can get for any step within the planner's limits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attnplan/error.h"
#include "attnplan/planner.h"
#include "planner/kernel.h"

namespace attnplan {

// Counts multiplied. What no memory can hold stays below what 64 bits of bytes can: nothing wraps.
inline constexpr int64_t kMostElements = int64_t{1} << 52;
inline int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? kMostElements : std::min(result, kMostElements);
}

struct Capacity {
  int64_t requests = 0;  // graph pads included
  int64_t rows = 0;
  int64_t segments = 0;
  int64_t refusals = 0;
  int64_t warnings = 0;
  int64_t table_width = 0;  // pages in a row of the page table
  int64_t chunks = 0;
  int64_t chunk_tokens = 0;  // of all chunks together
  int64_t local_batches = 0;
  int64_t work_items = 0;
  int64_t merge_tiles = 0;
  int64_t merge_slots = 0;
};

// Null, or the name of a limit that is missing: "max_num_seqs", "max_num_batched_tokens", or, where
// a section follows the lengths, "max_model_len".
const char* missing_limit(const Config& config);

// Needs every limit that missing_limit asks for; else the figures that depend on it are 0.
Capacity capacity_of(const Config& config, const KvView* view,
                     const std::pmr::vector<Kernel>& kernels);

}  // namespace attnplan
