// How a kernel becomes an entry of a table: its address, or under emulation a function that takes
// its arguments by address. Only files that are compiled as device code include this.
#pragma once

#include "hip/arch.h"
#include "hip/kernel_stub.h"
#include "hip/kernel_table.h"

namespace attnplan::hip {

#if defined(ATTNPLAN_HIP_EMULATED)

// ATTNPLAN_ENTRY(kernel, Args, parameters...): kernel<parameters>(const Args&) of `Arch`.
template <class Args, void (*kKernel)(const Args&)>
void run_emulated(const void* args) {
  kKernel(*static_cast<const Args*>(args));
}
#define ATTNPLAN_ENTRY(device, global, Args) reinterpret_cast<Kernel>(&run_emulated<Args, &device>)

// `Table::entries<Arch>(arguments...)` of the architecture.
template <class Table, class... Arguments>
const Kernel* entries_of(TableArch arch, Arguments... arguments) {
  switch (arch) {
    case TableArch::kGfx90a:
      return Table::template entries<Gfx90a>(arguments...);
    case TableArch::kGfx942:
      return Table::template entries<Gfx942>(arguments...);
    case TableArch::kGfx950:
      return Table::template entries<Gfx950>(arguments...);
    default:
      return Table::template entries<Sm90>(arguments...);
  }
}

#else

#define ATTNPLAN_ENTRY(device, global, Args) reinterpret_cast<Kernel>(&global)

template <class Table, class... Arguments>
const Kernel* entries_of(TableArch, Arguments... arguments) {
  return Table::template entries<void>(arguments...);
}

#endif

}  // namespace attnplan::hip
