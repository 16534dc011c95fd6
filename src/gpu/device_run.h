// Executes a batch on a GPU and compares with the oracle that never sees the plan.
#pragma once

#include "attnplan.h"
#include "cpu/run.h"
#include "gpu/device.h"

namespace attnplan::gpu {

// The batch is planned again, for the device's kernels. Caps of `options` hold, but for the head
// size, which kernels fix. Where the batch cannot be run, `problem` says why.
cpu::RunReport run(const Device& device, const attnplan_config& config, const attnplan_step& step,
                   const attnplan_group& group, const cpu::RunOptions& options);

}  // namespace attnplan::gpu
