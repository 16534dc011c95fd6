// Arguments of plan_refresh and draft_advance.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"
#include "hip/refresh_args.h"

namespace attnplan::hip {

struct RefreshLaunch {
  int blocks;
  RefreshArgs args;
};

Status check_refresh(const attnplan_hip_refresh_args* given, RefreshLaunch* launch, Error* error);

Status check_advance(const int32_t* query_start_loc, int32_t* seq_lens, int32_t num_reqs,
                     int32_t max_model_len, AdvanceArgs* args, Error* error);

}  // namespace attnplan::hip
