#include <cstddef>

#include "hip/kernel_table.h"

namespace attnplan::hip {
namespace {

using PartEntries = const Kernel* (*)(Kind, TableArch);

// The part of each line.
constexpr PartEntries kAttentionParts[] = {
#define ATTNPLAN_ATTENTION(part, ...) &part_entries<part>,
#include "hip/kernels.inc"
};
constexpr PartEntries kKvWriteParts[] = {
#define ATTNPLAN_KV_WRITE(part, ...) &part_entries<part>,
#include "hip/kernels.inc"
};
constexpr PartEntries kM3IndexParts[] = {
#define ATTNPLAN_M3_INDEX(part, ...) &part_entries<part>,
#include "hip/kernels.inc"
};
constexpr PartEntries kM3SparseParts[] = {
#define ATTNPLAN_M3_SPARSE(part, ...) &part_entries<part>,
#include "hip/kernels.inc"
};

template <size_t kLines>
Kernel find(const KernelKey (&lines)[kLines], const PartEntries (&parts)[kLines], Kind kind,
            const KernelKey& key) {
  for (size_t i = 0; i < kLines; ++i) {
    if (lines[i] == key) return parts[i](kind, table_arch())[i];
  }
  return nullptr;
}

}  // namespace

Kernel find_kernel(Kind kind, const KernelKey& key) {
  switch (kind) {
    case Kind::kAttention:
      return find(kAttentionLines, kAttentionParts, kind, key);
    case Kind::kKvWrite:
      return find(kKvWriteLines, kKvWriteParts, kind, key);
    case Kind::kM3Index:
      return find(kM3IndexLines, kM3IndexParts, kind, key);
    case Kind::kM3Sparse:
      return find(kM3SparseLines, kM3SparseParts, kind, key);
  }
  return nullptr;
}

}  // namespace attnplan::hip
