// The MiniMax-M3 index: block scores and selection, checked and timed.
#pragma once

#include "bench/step.h"

namespace attnplan::hip::bench {

Measurement measure_index(Gpu& gpu, const Workload& workload, const Choices& choices,
                          const attnplan_hip_device_info& device, int repetitions);

}  // namespace attnplan::hip::bench
