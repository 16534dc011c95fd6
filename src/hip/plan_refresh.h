// plan_refresh: the sections of a plan rewritten from the lengths on the device, without the host.
// docs/kernels.md says what holds of each section afterwards. One launch of any number of blocks:
// no block waits for another or reads what another writes, and nothing that a refresh writes is
// read by the next one, so a plan can be refreshed again and again.
#pragma once

#include "hip/arch.h"
#include "hip/refresh_args.h"
#include "hip/refresh_requests.h"
#include "hip/refresh_segments.h"
#include "hip/refresh_step.h"
#include "hip/refresh_work.h"

namespace attnplan::hip {

struct RefreshShared {
  PlanTable table;
  RefreshRound round;
  BlockTotals totals;
};

template <class Arch>
ATTNPLAN_DEVICE void plan_refresh(const RefreshArgs& args) {
  ATTNPLAN_SHARED(RefreshShared, shared);
  const bool first_block = block_index() == 0;
  const auto& header = *static_cast<const attnplan_plan_header*>(args.plan);
  const bool other = header.magic != ATTNPLAN_PLAN_MAGIC || header.major != ATTNPLAN_PLAN_MAJOR ||
                     (args.num_reqs > 0 && args.num_reqs != header.num_reqs);
  if (other) {
    if (first_block && thread_index() == 0 && args.status != nullptr) {
      *args.status = kRefreshOtherPlan;
    }
    return;
  }
  const PlanReader plan(args.plan, &shared.table);
  const RefreshStep step(args, plan);
  const RefreshPads pads(plan, args);
  uint32_t status = RefreshRequests<Arch>(step, pads, plan, &shared.round, &shared.totals).run();
  status |= RefreshSegments<Arch>(step, plan, &shared.round, &shared.totals).run();
  RefreshWork(step, plan).run();
  if (!first_block || args.status == nullptr) return;
  const int64_t all = reduce_block<Arch>(status, Bits(), &shared.totals);
  if (thread_index() == 0) *args.status = static_cast<uint32_t>(all);
}

// A length that passes max_model_len stays one beyond it, so that every group's refresh still sees
// that the row has no place; in a plan lengths end at max_model_len.
template <class Arch>
ATTNPLAN_DEVICE void draft_advance(const AdvanceArgs& args) {
  const int32_t most =
      args.max_model_len > 0 && args.max_model_len < INT32_MAX ? args.max_model_len + 1 : INT32_MAX;
  const int32_t step = grid_blocks() * block_threads();
  for (int32_t i = block_index() * block_threads() + thread_index(); i < args.num_reqs; i += step) {
    const bool live =
        args.query_start_loc == nullptr || args.query_start_loc[i] < args.query_start_loc[i + 1];
    if (live && args.seq_lens[i] < most) ++args.seq_lens[i];
  }
}

#if !defined(ATTNPLAN_HIP_EMULATED)
static ATTNPLAN_LAUNCH_BOUNDS(kRefreshMaxThreads, 1) ATTNPLAN_GLOBAL
    void plan_refresh_kernel(RefreshArgs args) {
  plan_refresh<DeviceArch>(kernel_args(args));
}
static ATTNPLAN_LAUNCH_BOUNDS(kRefreshMaxThreads, 1) ATTNPLAN_GLOBAL
    void draft_advance_kernel(AdvanceArgs args) {
  draft_advance<DeviceArch>(kernel_args(args));
}
#endif

}  // namespace attnplan::hip
