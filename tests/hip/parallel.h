// Work for all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace attnplan::hip_test {

// Calls work(0) ... work(count - 1), in no order. The first exception thrown comes out.
void parallel_for(int64_t count, const std::function<void(int64_t)>& work);

}  // namespace attnplan::hip_test
