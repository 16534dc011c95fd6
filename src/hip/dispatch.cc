#include <algorithm>
#include <iterator>

#include "hip/kernel_table.h"

namespace attnplan::hip {

Kernel attention_kernel(int line, TableArch arch) {
  using Entries = const Kernel* (*)(TableArch);
  static constexpr Entries kEntries[] = {
#define ATTNPLAN_ATTENTION(part, ...) &attention_entries<part>,
#include "hip/kernels.inc"
  };
  return kEntries[line](arch)[line];
}

int find_attention(const AttentionKey& key) {
  const auto* const found = std::find(std::begin(kAttentionLines), std::end(kAttentionLines), key);
  if (found == std::end(kAttentionLines)) return -1;
  return static_cast<int>(found - std::begin(kAttentionLines));
}

}  // namespace attnplan::hip
