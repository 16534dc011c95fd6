// The kernels of one part of kernels.inc: compiled once per part, as device code, and for the
// emulation as C++ once for every architecture.
#include "hip/entries.h"
#include "hip/kv_write.h"
#include "hip/m3_index.h"
#include "hip/m3_sparse.h"
#include "hip/paged_attention.h"

namespace attnplan::hip {
namespace {

// The entry of a line. `kMine`: it belongs to this part; lines of other parts are not instantiated.
template <class Arch, bool kMine, Cache kCache, int kHeadK, int kHeadV, bool kShuffle, int kTiles>
Kernel attention_entry() {
  if constexpr (kMine) {
    return ATTNPLAN_ENTRY(
        (paged_attention<AttentionTraits<Arch, kCache, kHeadK, kHeadV, kShuffle, kTiles>>),
        (paged_attention_kernel<kCache, kHeadK, kHeadV, kShuffle, kTiles>), AttentionArgs);
  } else {
    return nullptr;
  }
}

template <class Arch, bool kMine, Cache kCache>
Kernel kv_write_entry() {
  if constexpr (kMine) {
    return ATTNPLAN_ENTRY((kv_write<Arch, kCache>), (kv_write_kernel<kCache>), KvWriteArgs);
  } else {
    return nullptr;
  }
}

template <class Arch, bool kMine, Cache kCache, int kHead, int kTiles>
Kernel m3_index_entry() {
  if constexpr (kMine) {
    return ATTNPLAN_ENTRY((m3_index_scores<M3IndexTraits<Arch, kCache, kHead, kTiles>>),
                          (m3_index_scores_kernel<kCache, kHead, kTiles>), M3IndexArgs);
  } else {
    return nullptr;
  }
}

template <class Arch, bool kMine, Cache kCache, int kHeadK, int kHeadV, bool kShuffle>
Kernel m3_sparse_entry() {
  if constexpr (kMine) {
    return ATTNPLAN_ENTRY((m3_sparse<AttentionTraits<Arch, kCache, kHeadK, kHeadV, kShuffle, 1>>),
                          (m3_sparse_kernel<kCache, kHeadK, kHeadV, kShuffle>), M3SparseArgs);
  } else {
    return nullptr;
  }
}

struct Table {
  template <class Arch>
  static const Kernel* entries(Kind kind) {
    static const Kernel kAttention[] = {
#define ATTNPLAN_ATTENTION(part, cache, head_size, v_head_size, shuffle, tiles)          \
  attention_entry<Arch, part == ATTNPLAN_HIP_PART, Cache::cache, head_size, v_head_size, \
                  shuffle != 0, tiles>(),
#include "hip/kernels.inc"
    };
    static const Kernel kKvWrite[] = {
#define ATTNPLAN_KV_WRITE(part, cache) \
  kv_write_entry<Arch, part == ATTNPLAN_HIP_PART, Cache::cache>(),
#include "hip/kernels.inc"
    };
    static const Kernel kM3Index[] = {
#define ATTNPLAN_M3_INDEX(part, cache, head_size, tiles) \
  m3_index_entry<Arch, part == ATTNPLAN_HIP_PART, Cache::cache, head_size, tiles>(),
#include "hip/kernels.inc"
    };
    static const Kernel kM3Sparse[] = {
#define ATTNPLAN_M3_SPARSE(part, cache, head_size, v_head_size, shuffle)                 \
  m3_sparse_entry<Arch, part == ATTNPLAN_HIP_PART, Cache::cache, head_size, v_head_size, \
                  shuffle != 0>(),
#include "hip/kernels.inc"
    };
    switch (kind) {
      case Kind::kAttention:
        return kAttention;
      case Kind::kKvWrite:
        return kKvWrite;
      case Kind::kM3Index:
        return kM3Index;
      case Kind::kM3Sparse:
        return kM3Sparse;
    }
    return nullptr;
  }
};

}  // namespace

template <>
const Kernel* part_entries<ATTNPLAN_HIP_PART>(Kind kind, TableArch arch) {
  return entries_of<Table>(arch, kind);
}

}  // namespace attnplan::hip
