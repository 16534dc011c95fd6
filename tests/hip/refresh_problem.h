// Plans finished on the device under test: plan from upper bounds + attnplan_hip_refresh = what the
// CPU twin makes of it, byte for byte, = plan from the true lengths.
#pragma once

#include <cstdint>
#include <string>

#include "hip/judge.h"

namespace attnplan::hip_test {

enum class RefreshWay {
  kPlan,    // refreshed once with the true lengths, then with lengths that make no sense
  kReplay,  // recorded once, run for step after step that lies at the same addresses
  kDraft,   // draft steps 2 to k: advance and refresh, recorded
};
const char* name_of(RefreshWay way);

// A random step, its lengths, and what goes wrong. `judged` of the verdict counts plans that could
// be compared with the plan of the true lengths section by section.
Verdict solve_refresh(RefreshWay way, uint64_t seed);

}  // namespace attnplan::hip_test
