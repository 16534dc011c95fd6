// Kernels of which there is one for all: compiled once as device code, and for the emulation.
#include "hip/entries.h"
#include "hip/merge.h"

namespace attnplan::hip {
namespace {

#if defined(ATTNPLAN_HIP_EMULATED)
template <class Arch>
void run_merge(const void* args) {
  merge<Arch>(*static_cast<const MergeArgs*>(args));
}
#define ATTNPLAN_ENTRY(name) reinterpret_cast<Kernel>(&run_##name<Arch>)
#else
#define ATTNPLAN_ENTRY(name) reinterpret_cast<Kernel>(&name##_kernel)
#endif

struct Table {
  template <class Arch>
  static const Kernel* entries() {
    static const Kernel kEntries[kNumServices] = {ATTNPLAN_ENTRY(merge)};
    return kEntries;
  }
};

}  // namespace

Kernel service_kernel(Service service, TableArch arch) {
  return entries_of<Table>(arch)[static_cast<int>(service)];
}

}  // namespace attnplan::hip
