#include "planner/cost.h"

namespace attnplan {

int64_t predicted_nanoseconds(const Config& config, const std::pmr::vector<Kernel>& kernels,
                              const std::pmr::vector<RoutedSegment>& segments) {
  int64_t launches = 0;
  __int128 picoseconds = 0;
  for (const RoutedSegment& segment : segments) {
    int64_t per_token = kPrefillPicoseconds;
    switch (kernels[static_cast<size_t>(segment.kernel)].route) {
      case Route::kDecode:
        per_token = kDecodePicoseconds;
        break;
      case Route::kExtend:
        per_token = kExtendPicoseconds;
        break;
      default:
        break;
    }
    launches += kLaunchNanoseconds;
    picoseconds += __int128{per_token} * segment.facts.sum_seq_lens;
  }
  const __int128 cost = launches + picoseconds * config.num_kv_heads / 1000;
  return cost < INT64_MAX ? static_cast<int64_t>(cost) : INT64_MAX;
}

}  // namespace attnplan
