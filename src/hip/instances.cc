// The attention kernels of one part of kernels.inc: compiled once per part, as device code, and for
// the emulation as C++ once for every architecture.
#include "hip/entries.h"
#include "hip/paged_attention.h"

namespace attnplan::hip {
namespace {

#if defined(ATTNPLAN_HIP_EMULATED)
template <class Arch, Cache kCache, int kHeadSize, int kVHeadSize, bool kShuffle, int kTiles>
void run(const void* args) {
  paged_attention<AttentionTraits<Arch, kCache, kHeadSize, kVHeadSize, kShuffle, kTiles>>(
      *static_cast<const AttentionArgs*>(args));
}
#define ATTNPLAN_ENTRY(...) reinterpret_cast<Kernel>(&run<Arch, __VA_ARGS__>)
#else
#define ATTNPLAN_ENTRY(...) reinterpret_cast<Kernel>(&paged_attention_kernel<__VA_ARGS__>)
#endif

struct Table {
  // A template, so that the lines of other parts are not instantiated.
  template <class Arch, bool kMine, Cache kCache, int kHeadSize, int kVHeadSize, bool kShuffle,
            int kTiles>
  static Kernel entry() {
    if constexpr (kMine) {
      return ATTNPLAN_ENTRY(kCache, kHeadSize, kVHeadSize, kShuffle, kTiles);
    } else {
      return nullptr;
    }
  }

  template <class Arch>
  static const Kernel* entries() {
    static const Kernel kEntries[] = {
#define ATTNPLAN_ATTENTION(part, cache, head_size, v_head_size, shuffle, tiles)              \
  entry<Arch, part == ATTNPLAN_HIP_PART, Cache::cache, head_size, v_head_size, shuffle != 0, \
        tiles>(),
#include "hip/kernels.inc"
    };
    return kEntries;
  }
};

}  // namespace

template <>
const Kernel* attention_entries<ATTNPLAN_HIP_PART>(TableArch arch) {
  return entries_of<Table>(arch);
}

}  // namespace attnplan::hip
