// Kernels of which there is one for all: compiled once as device code, and for the emulation.
#include "hip/entries.h"
#include "hip/m3_merge.h"
#include "hip/m3_select.h"
#include "hip/merge.h"
#include "hip/plan_refresh.h"

namespace attnplan::hip {
namespace {

struct Table {
  template <class Arch>
  static const Kernel* entries() {
    static const Kernel kEntries[kNumServices] = {
        ATTNPLAN_ENTRY((merge<Arch>), merge_kernel, MergeArgs),
        ATTNPLAN_ENTRY((m3_index_select<Arch>), m3_index_select_kernel, M3IndexArgs),
        ATTNPLAN_ENTRY((m3_merge<Arch>), m3_merge_kernel, M3SparseArgs),
        ATTNPLAN_ENTRY((plan_refresh<Arch>), plan_refresh_kernel, RefreshArgs),
        ATTNPLAN_ENTRY((draft_advance<Arch>), draft_advance_kernel, AdvanceArgs)};
    return kEntries;
  }
};

}  // namespace

Kernel service_entry(Service service, TableArch arch) {
  return entries_of<Table>(arch)[static_cast<int>(service)];
}

}  // namespace attnplan::hip
