#include "hip/enqueue.h"
#include "hip/launch_check.h"
#include "hip/run.h"

namespace attnplan::hip {
namespace {

// Merges are short: some blocks a compute unit hide their latency.
constexpr int64_t kMergeBlocksOfWorker = 8;

Status run_dense(const CheckedLaunch& checked, void* stream, Error* error) {
  DenseLaunch launch = {};
  Status status = check_dense(checked, &launch, error);
  if (status != Status::kOk) return status;
  status =
      enqueue_kernel(find_kernel(Kind::kAttention, launch.kernel), "paged_attention",
                     launch.workers, kAttentionWaves * wave_size(), launch.args, stream, error);
  if (status != Status::kOk || !launch.merges) return status;
  const int64_t blocks = std::min(launch.merge_units, kMergeBlocksOfWorker * launch.workers);
  return enqueue_kernel(find_service(Service::kMerge), "merge", blocks, kMergeThreads, launch.merge,
                        stream, error);
}

Status run_sparse(const CheckedLaunch& checked, void* stream, Error* error) {
  SparseLaunch launch = {};
  Status status = check_sparse(checked, &launch, error);
  if (status != Status::kOk) return status;
  const int64_t workers = launch.args.slots;
  status = enqueue_kernel(find_kernel(Kind::kM3Sparse, launch.kernel), "m3_sparse",
                          std::min(launch.units, workers), kAttentionWaves * wave_size(),
                          launch.args, stream, error);
  if (status != Status::kOk || !launch.merges) return status;
  // A split row has more than one slot, so no more rows than slots are merged.
  const int64_t heads = std::min(launch.units, workers) * launch.args.attention.group;
  return enqueue_kernel(find_service(Service::kM3Merge), "m3_merge",
                        std::min(heads, kMergeBlocksOfWorker * workers), kM3MergeThreads,
                        launch.args, stream, error);
}

}  // namespace

Status run_segment(const attnplan_hip_launch_args* args, void* stream, Error* error) {
  CheckedLaunch checked = {};
  const Status status = read_launch(args, &checked, error);
  if (status != Status::kOk) return status;
  return checked.layer.sparse() ? run_sparse(checked, stream, error)
                                : run_dense(checked, stream, error);
}

}  // namespace attnplan::hip
