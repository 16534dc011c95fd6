#include "hip/run_segment.h"

#include "hip/enqueue.h"
#include "hip/launch_check.h"

namespace attnplan::hip {
namespace {

// Merges are short: some blocks a compute unit hide their latency.
constexpr int64_t kMergeBlocksOfWorker = 8;

}  // namespace

Status run_segment(const attnplan_hip_launch_args* args, void* stream, Error* error) {
  AttentionLaunch launch;
  Status status = check_launch(args, &launch, error);
  if (status != Status::kOk) return status;
  status =
      enqueue_kernel(find_kernel(Kind::kAttention, launch.kernel), "paged_attention",
                     launch.workers, kAttentionWaves * wave_size(), launch.args, stream, error);
  if (status != Status::kOk || !launch.merges) return status;
  const int64_t blocks = std::min(launch.merge_units, kMergeBlocksOfWorker * launch.workers);
  return enqueue_kernel(find_service(Service::kMerge), "merge", blocks, kMergeThreads, launch.merge,
                        stream, error);
}

}  // namespace attnplan::hip
