// From a line of kernels.inc to the entry of its kernel. instances.cc, compiled once per part,
// knows the entries of its part; dispatch.cc puts them together.
#pragma once

#include <cstdint>

#include "hip/kernel_list.h"
#include "hip/runtime.h"

namespace attnplan::hip {

// What the emulation runs as. Device code of a GPU knows its own and is handed kOwn.
enum class TableArch : int32_t { kOwn = 0, kGfx90a = 0, kGfx942, kGfx950, kSm90 };
TableArch table_arch();  // defined by the platform's runtime

// The lists of kernel_list.h.
enum class Kind : int32_t { kAttention, kKvWrite, kM3Index, kM3Sparse };

// Entries of one list, NULL for the lines of other parts. Defined by instances.cc of that part.
template <int kPart>
const Kernel* part_entries(Kind kind, TableArch arch);

// NULL where no line of the list is `key`.
Kernel find_kernel(Kind kind, const KernelKey& key);

// Kernels of which there is one for all. Defined by services.cc.
enum class Service : int32_t { kMerge, kM3Select, kM3Merge, kRefresh, kAdvance };
inline constexpr int kNumServices = 5;
Kernel service_entry(Service service, TableArch arch);
inline Kernel find_service(Service service) { return service_entry(service, table_arch()); }

}  // namespace attnplan::hip
