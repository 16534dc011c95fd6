// One kernel into a stream, with the runtime's complaint as an Error.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attnplan/error.h"
#include "hip/kernel_table.h"
#include "hip/runtime.h"

namespace attnplan::hip {

template <class Args>
Status enqueue_kernel(Kernel kernel, const char* name, int64_t blocks, int threads,
                      const Args& args, void* stream, Error* error) {
  if (kernel == nullptr) {
    return error->set(Status::kInternal, Code::kNone, -1, 0, 0, "%s is not in this build", name);
  }
  constexpr int64_t kMostBlocks = INT32_MAX;
  const auto grid = static_cast<int>(std::clamp<int64_t>(blocks, 1, kMostBlocks));
  const int failed = enqueue(kernel, grid, threads, &args, stream);
  if (failed == 0) return Status::kOk;
  return error->set(Status::kInternal, Code::kNone, -1, failed, 0, "%s was not launched: %s", name,
                    describe(failed));
}

}  // namespace attnplan::hip
