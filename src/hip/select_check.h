// Arguments of the MiniMax-M3 index.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"
#include "hip/host_plan.h"
#include "hip/kernel_list.h"
#include "hip/layer.h"
#include "hip/m3_args.h"

namespace attnplan::hip {

struct SelectLaunch {
  KernelKey kernel;  // of kM3IndexLines
  int64_t rows;      // (row, index head)
  int32_t workers;
  M3IndexArgs args;
};

Status check_select(const attnplan_hip_select_args* given, SelectLaunch* launch, Error* error);

// INVALID_ARGUMENT where they pass 64 bits.
Status select_workspace_bytes(const Layer& layer, const HostPlan& plan, int32_t max_seq_len,
                              int64_t* bytes, Error* error);

// An index as a cache of one head: its dtype, and where its keys lie.
struct IndexCache {
  attnplan_hip_index index;  // defaults filled in
  CacheTensor k;
  int32_t pages_per_stride;
};
Status read_index(const attnplan_hip_index* given, const Layer& layer, int32_t page_size,
                  IndexCache* cache, Error* error);

}  // namespace attnplan::hip
