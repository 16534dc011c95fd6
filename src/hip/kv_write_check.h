// Arguments of kv_write.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"
#include "hip/kernel_list.h"
#include "hip/kv_write_args.h"

namespace attnplan::hip {

struct KvWriteLaunch {
  KernelKey kernel;  // of kKvWriteLines
  int64_t units;     // heads of rows; 0: nothing to write
  KvWriteArgs args;
};

Status check_kv_write(const attnplan_hip_kv_write_args* given, KvWriteLaunch* launch, Error* error);

}  // namespace attnplan::hip
