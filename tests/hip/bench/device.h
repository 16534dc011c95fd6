// Entries of the bench's own kernels.
#pragma once

#include "hip/runtime.h"
#include "inputs.h"

namespace attnplan::hip::bench {

Kernel fill_entry();   // FillArgs
Kernel flush_entry();  // FlushArgs

}  // namespace attnplan::hip::bench
