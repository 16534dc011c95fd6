// Enqueues what a checked call asks for. No allocation, no wait.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"

namespace attnplan::hip {

Status run_segment(const attnplan_hip_launch_args* args, void* stream, Error* error);

}  // namespace attnplan::hip
