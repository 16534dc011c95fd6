// What the emulation of the module runs as: set by tests before they call attnplan_hip.h.
#pragma once

#include <cstdint>

#include "hip/kernel_table.h"

namespace attnplan::hip {

struct Emulation {
  TableArch arch = TableArch::kGfx950;
  uint64_t seed = 1;  // of the order in which lanes, waves and blocks run
  int32_t compute_units = 4;
};

// Of this thread.
Emulation& emulation();

}  // namespace attnplan::hip
