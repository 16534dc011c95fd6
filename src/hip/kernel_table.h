// From a line of kernels.inc to the entry of its kernel. instances.cc, compiled once per part,
// knows the entries of its part; dispatch.cc puts them together.
#pragma once

#include <cstdint>

#include "attnplan_types.h"
#include "hip/runtime.h"

namespace attnplan::hip {

// What the emulation runs as. Device code of a GPU knows its own and is handed kOwn.
enum class TableArch : int32_t { kOwn = 0, kGfx90a = 0, kGfx942, kGfx950, kSm90 };

// What tells one line from another.
struct AttentionKey {
  attnplan_dtype cache;  // what the bytes of the cache are
  int32_t head_size;     // of Q and K
  int32_t v_head_size;
  bool shuffle;
  int32_t tiles;

  bool operator==(const AttentionKey&) const = default;
};

// The words of kernels.inc.
namespace cache_word {
inline constexpr attnplan_dtype kBf16 = ATTNPLAN_DTYPE_BF16, kFp16 = ATTNPLAN_DTYPE_FP16,
                                kE4m3fn = ATTNPLAN_DTYPE_E4M3FN,
                                kE4m3fnuz = ATTNPLAN_DTYPE_E4M3FNUZ, kE5m2 = ATTNPLAN_DTYPE_E5M2;
}  // namespace cache_word

// In the order of kernels.inc.
inline constexpr AttentionKey kAttentionLines[] = {
#define ATTNPLAN_ATTENTION(part, cache, head_size, v_head_size, shuffle, tiles) \
  {cache_word::cache, head_size, v_head_size, shuffle != 0, tiles},
#include "hip/kernels.inc"
};
inline constexpr int kNumAttentionLines = sizeof kAttentionLines / sizeof kAttentionLines[0];

// Entries by line; NULL for the lines of other parts. Defined by instances.cc of that part.
template <int kPart>
const Kernel* attention_entries(TableArch arch);

// By number in kAttentionLines.
Kernel attention_kernel(int line, TableArch arch);
// The number of the line for `key`, or -1.
int find_attention(const AttentionKey& key);

// Kernels of which there is one for all. services.cc.
enum class Service : int32_t { kMerge };
inline constexpr int kNumServices = 1;
Kernel service_kernel(Service service, TableArch arch);

}  // namespace attnplan::hip
