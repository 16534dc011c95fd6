// One attention workload: inputs, launch, check and time.
#pragma once

#include "bench/step.h"

namespace attnplan::hip::bench {

Measurement measure_attention(Gpu& gpu, const Workload& workload, const Choices& choices,
                              const attnplan_hip_device_info& device, int repetitions);

}  // namespace attnplan::hip::bench
