// Enqueues what a call asks for, once it is checked. No allocation, no wait.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"

namespace attnplan::hip {

Status run_segment(const attnplan_hip_launch_args* args, void* stream, Error* error);
Status run_select(const attnplan_hip_select_args* args, void* stream, Error* error);
Status run_kv_write(const attnplan_hip_kv_write_args* args, void* stream, Error* error);
Status run_refresh(const attnplan_hip_refresh_args* args, void* stream, Error* error);
Status run_advance(const int32_t* query_start_loc, int32_t* seq_lens, int32_t num_reqs,
                   int32_t max_model_len, void* stream, Error* error);

}  // namespace attnplan::hip
