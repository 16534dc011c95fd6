// What a compiler of HIP wants to see declared before a kernel, for the stub it makes of it on the
// host. The module launches through runtime.h and includes no header of the runtime in device code.
#pragma once

#include <cstddef>

#include "hip/platform.h"

#if defined(ATTNPLAN_HIP_AMD)
struct dim3 {
  unsigned x, y, z;
};
using hipStream_t = struct ihipStream_t*;
extern "C" int hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args,
                               size_t shared_bytes, hipStream_t stream);
#endif
