// What stands around attention: selection, cache writes, lengths of the device.
#include "hip/enqueue.h"
#include "hip/kv_write_check.h"
#include "hip/refresh_check.h"
#include "hip/run.h"
#include "hip/select_check.h"

namespace attnplan::hip {
namespace {

constexpr int64_t kMostWriteBlocks = 4096;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Status run_select(const attnplan_hip_select_args* args, void* stream, Error* error) {
  SelectLaunch launch;
  Status status = check_select(args, &launch, error);
  if (status != Status::kOk) return status;
  const int threads = kM3IndexWaves * wave_size();
  status = enqueue_kernel(find_kernel(Kind::kM3Index, launch.kernel), "m3_index_scores",
                          launch.workers, threads, launch.args, stream, error);
  if (status != Status::kOk) return status;
  return enqueue_kernel(find_service(Service::kM3Select), "m3_index_select",
                        ceil_div(launch.rows, kM3IndexWaves), threads, launch.args, stream, error);
}

Status run_kv_write(const attnplan_hip_kv_write_args* args, void* stream, Error* error) {
  KvWriteLaunch launch;
  const Status status = check_kv_write(args, &launch, error);
  if (status != Status::kOk || launch.units == 0) return status;
  const int64_t units_of_block = kKvWriteThreads / launch.args.head_lanes;
  return enqueue_kernel(find_kernel(Kind::kKvWrite, launch.kernel), "kv_write",
                        std::min(ceil_div(launch.units, units_of_block), kMostWriteBlocks),
                        kKvWriteThreads, launch.args, stream, error);
}

Status run_refresh(const attnplan_hip_refresh_args* args, void* stream, Error* error) {
  RefreshLaunch launch;
  const Status status = check_refresh(args, &launch, error);
  if (status != Status::kOk) return status;
  return enqueue_kernel(find_service(Service::kRefresh), "plan_refresh", launch.blocks,
                        kRefreshMaxThreads, launch.args, stream, error);
}

Status run_advance(const int32_t* query_start_loc, int32_t* seq_lens, int32_t num_reqs,
                   int32_t max_model_len, void* stream, Error* error) {
  AdvanceArgs args;
  const Status status =
      check_advance(query_start_loc, seq_lens, num_reqs, max_model_len, &args, error);
  if (status != Status::kOk || num_reqs == 0) return status;
  return enqueue_kernel(find_service(Service::kAdvance), "draft_advance",
                        ceil_div(num_reqs, kRefreshMaxThreads), kRefreshMaxThreads, args, stream,
                        error);
}

}  // namespace attnplan::hip
