#include "hip/launch_check.h"

#include <algorithm>

#include "hip/argument_checks.h"
#include "hip/contract_table.h"
#include "hip/plan_layer.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

Status read_work(const HostPlan& plan, const attnplan_work** work, Error* error) {
  for (const int32_t id : {ATTNPLAN_SECTION_WORK, ATTNPLAN_SECTION_WORK_ITEMS,
                           ATTNPLAN_SECTION_WORKER_INDPTR, ATTNPLAN_SECTION_MERGE_TILES,
                           ATTNPLAN_SECTION_MERGE_INDPTR, ATTNPLAN_SECTION_MERGE_SLOTS}) {
    const Status status = plan.need(id, error);
    if (status != Status::kOk) return status;
  }
  *work = plan.host<attnplan_work>(ATTNPLAN_SECTION_WORK);
  return Status::kOk;
}

// The kernels' tiles are not the planner's where another contract was planned with. A plan without
// segments has none.
Status check_tiles(const HostPlan& plan, const attnplan_work& work, Error* error) {
  if (plan.no_segments()) return Status::kOk;
  if (work.query_tile != kQueryTile) {
    return error->set(
        Status::kPlanError, Code::kNone, -1, work.query_tile, kQueryTile,
        "plan: its work list has a query_tile of %d, the kernels one of %d: plan with "
        "attnplan_hip_contracts",
        work.query_tile, kQueryTile);
  }
  if (work.kv_tile < kKvTile || work.kv_tile % kKvTile != 0) {
    return error->set(Status::kPlanError, Code::kNone, -1, work.kv_tile, kKvTile,
                      "plan: its work list has a kv_tile of %d, it has to be a multiple of %d",
                      work.kv_tile, kKvTile);
  }
  return Status::kOk;
}

void fill_merge(const HostPlan& plan, const attnplan_hip_attention& a, DenseLaunch* launch) {
  const AttentionArgs& args = launch->args;
  MergeArgs& merge = launch->merge;
  merge.header = args.header;
  merge.segment = args.segment;
  merge.segment_index = args.segment_index;
  merge.tiles_section = plan.device_entry(ATTNPLAN_SECTION_MERGE_TILES);
  merge.tiles = plan.device<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES);
  merge.indptr = plan.device<int32_t>(ATTNPLAN_SECTION_MERGE_INDPTR);
  merge.slots = plan.device<int32_t>(ATTNPLAN_SECTION_MERGE_SLOTS);
  merge.query_start_loc = args.query_start_loc;
  merge.partial_out = args.partial_out;
  merge.partial_lse = args.partial_lse;
  merge.out = args.out;
  merge.lse = args.lse;
  merge.out_row_stride = args.out_row_stride;
  merge.out_head_stride = args.out_head_stride;
  merge.lse_row_stride = args.lse_row_stride;
  merge.group = args.group;
  merge.query_tile = args.query_tile;
  merge.v_head_size = a.v_head_size;
  merge.out_is_bf16 = args.q_is_bf16;
  merge.v_scale = args.v_scale;
  launch->merge_units = plan.find(ATTNPLAN_SECTION_MERGE_TILES)->capacity * args.query_tile;
}

}  // namespace

Workspace workspace_for(int64_t slots, int64_t rows, int64_t v_head_size) {
  constexpr int64_t kFloat = sizeof(float);
  const int64_t out_bytes = slots * rows * v_head_size * kFloat;
  return {slots, out_bytes, out_bytes + slots * rows * kFloat};
}

Status workspace_of(const Layer& layer, const HostPlan& plan, Workspace* workspace, Error* error) {
  *workspace = {};
  if (layer.sparse()) {
    *workspace = sparse_workspace(layer, plan);
    return Status::kOk;
  }
  const attnplan_work* work;
  const Status status = read_work(plan, &work, error);
  if (status != Status::kOk) return status;
  if (const Status tiles = check_tiles(plan, *work, error); tiles != Status::kOk) return tiles;
  *workspace = workspace_for(std::max(work->num_slots, work->max_slots), kQueryTile,
                             layer.attention.v_head_size);
  return Status::kOk;
}

Status check_workspace(const void* workspace, size_t bytes, int64_t need, Error* error) {
  if (need == 0) return Status::kOk;
  if (bytes < static_cast<size_t>(need)) {
    return error->set(Status::kBufferTooSmall, Code::kNone, -1, need, static_cast<int64_t>(bytes),
                      "workspace_bytes is %zu, the plan needs %lld", bytes,
                      static_cast<long long>(need));
  }
  return check_pointer(error, "workspace", workspace, 16);
}

Status read_launch(const attnplan_hip_launch_args* given, CheckedLaunch* checked, Error* error) {
  attnplan_hip_launch_args copy;
  const attnplan_hip_launch_args* args;
  Status status = read_struct(given, &copy, &args, "attnplan_hip_launch_args", error);
  if (status != Status::kOk) return status;
  checked->given = *args;
  if ((args->flags & ~ATTNPLAN_HIP_VERIFY) != 0) return unknown_value(error, "flags", args->flags);
  status = read_layer(args->attention, &checked->layer, error);
  if (status == Status::kOk) status = need_cache(checked->layer, error);
  if (status == Status::kOk) status = check_supported(checked->layer, error);
  if (status == Status::kOk) status = HostPlan::read(args->plan, &checked->plan, error);
  if (status == Status::kOk) status = check_plan_layer(checked->plan, checked->layer, error);
  if (status != Status::kOk) return status;
  return fill_attention(*args, checked->layer, checked->plan, &checked->args, error);
}

Status check_dense(const CheckedLaunch& checked, DenseLaunch* launch, Error* error) {
  const attnplan_hip_launch_args& given = checked.given;
  const attnplan_hip_attention& a = checked.layer.attention;
  const attnplan_work* work = nullptr;
  Workspace workspace;
  if (given.selected != nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "selected is given, but attention.top_k is 0");
  }
  Status status = read_work(checked.plan, &work, error);
  if (status == Status::kOk) {
    status = workspace_of(checked.layer, checked.plan, &workspace, error);
  }
  if (status == Status::kOk) {
    status = check_workspace(given.workspace, given.workspace_bytes, workspace.bytes, error);
  }
  if (status != Status::kOk) return status;

  launch->kernel = {checked.layer.view_dtype, a.head_size, a.v_head_size, checked.layer.shuffled(),
                    1};
  launch->workers = work->workers;
  launch->args = checked.args;
  launch->args.items = checked.plan.device<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS);
  launch->args.worker_indptr = checked.plan.device<int32_t>(ATTNPLAN_SECTION_WORKER_INDPTR);
  launch->args.query_tile = kQueryTile;
  launch->args.partial_out = static_cast<float*>(given.workspace);
  launch->args.partial_lse =
      reinterpret_cast<float*>(static_cast<std::byte*>(given.workspace) + workspace.out_bytes);
  launch->merges = workspace.slots > 0;
  fill_merge(checked.plan, a, launch);
  return Status::kOk;
}

}  // namespace attnplan::hip
