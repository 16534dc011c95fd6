// How a kernel becomes an entry of a table: its address, or under emulation a function that takes
// its arguments by address. Only files that are compiled as device code include this.
#pragma once

#include "hip/arch.h"
#include "hip/kernel_stub.h"
#include "hip/kernel_table.h"

#if defined(ATTNPLAN_HIP_EMULATED)
namespace attnplan::hip {

// `Table` has entries of every architecture: Table::entries<Arch>().
template <class Table>
auto entries_of(TableArch arch) {
  switch (arch) {
    case TableArch::kGfx90a:
      return Table::template entries<Gfx90a>();
    case TableArch::kGfx942:
      return Table::template entries<Gfx942>();
    case TableArch::kGfx950:
      return Table::template entries<Gfx950>();
    default:
      return Table::template entries<Sm90>();
  }
}

}  // namespace attnplan::hip
#else
namespace attnplan::hip {

template <class Table>
auto entries_of(TableArch) {
  return Table::template entries<void>();
}

}  // namespace attnplan::hip
#endif
