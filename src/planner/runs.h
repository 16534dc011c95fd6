// How far a decode kernel's contract reaches: the prefixes and runs that `uniform_prefix` and
// `split_runs` keep on a decode kernel. Only for ranges whose query lengths are exact.
#pragma once

#include "planner/kernel.h"
#include "planner/lanes.h"

namespace attnplan {

enum class Exactness { kDemanded, kIgnored };

// End of the longest run of live requests that starts at `begin` (live) and stays inside the
// contract of `kernel`, whatever its minimum of requests (and whether its
// lengths are exact, where that is ignored); `begin` where it takes none. Sets
// *num_live. O(length of the run).
int32_t run_end(const Kernel& kernel, const Lanes& lanes, int32_t begin, int32_t end,
                Exactness exactness, int32_t* num_live);

}  // namespace attnplan
