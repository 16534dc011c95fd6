#include "hip/launch_check.h"

#include <algorithm>

#include "hip/contract_table.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

Status check_flags(const attnplan_hip_launch_args& given, Error* error) {
  if ((given.flags & ~ATTNPLAN_HIP_VERIFY) == 0) return Status::kOk;
  return unknown_value(error, "flags", given.flags);
}

Status read_work(const HostPlan& plan, const attnplan_work** work, Error* error) {
  constexpr struct {
    int32_t id;
    const char* name;
  } kSections[] = {{ATTNPLAN_SECTION_WORK, "WORK"},
                   {ATTNPLAN_SECTION_WORK_ITEMS, "WORK_ITEMS"},
                   {ATTNPLAN_SECTION_WORKER_INDPTR, "WORKER_INDPTR"},
                   {ATTNPLAN_SECTION_MERGE_TILES, "MERGE_TILES"},
                   {ATTNPLAN_SECTION_MERGE_INDPTR, "MERGE_INDPTR"},
                   {ATTNPLAN_SECTION_MERGE_SLOTS, "MERGE_SLOTS"}};
  for (const auto& section : kSections) {
    const Status status = plan.need(section.id, section.name, error);
    if (status != Status::kOk) return status;
  }
  const attnplan_section& entry = *plan.find(ATTNPLAN_SECTION_WORK);
  const attnplan_section& indptr = *plan.find(ATTNPLAN_SECTION_WORKER_INDPTR);
  if (entry.count != 1) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, entry.count, 1,
                      "plan: section WORK has %lld elements, it has one",
                      static_cast<long long>(entry.count));
  }
  *work = plan.host<attnplan_work>(ATTNPLAN_SECTION_WORK);
  if ((*work)->workers < 1 || indptr.count != int64_t{(*work)->workers} + 1) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, indptr.count, (*work)->workers,
                      "plan: %d workers with a section WORKER_INDPTR of %lld elements",
                      (*work)->workers, static_cast<long long>(indptr.count));
  }
  return Status::kOk;
}

// The kernels' tiles are not the planner's where another contract was planned with.
Status check_tiles(const attnplan_work& work, Error* error) {
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

Status check_workspace(const attnplan_hip_launch_args& given, const Workspace& need, Error* error) {
  if (need.bytes == 0) return Status::kOk;
  if (given.workspace_bytes < static_cast<size_t>(need.bytes)) {
    return error->set(Status::kBufferTooSmall, Code::kNone, -1, need.bytes,
                      static_cast<int64_t>(given.workspace_bytes),
                      "workspace_bytes is %zu, the plan needs %lld", given.workspace_bytes,
                      static_cast<long long>(need.bytes));
  }
  if (given.workspace == nullptr || reinterpret_cast<uintptr_t>(given.workspace) % 16 != 0) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 16, "workspace is %s",
                      given.workspace == nullptr ? "NULL" : "not 16-byte aligned");
  }
  return Status::kOk;
}

void fill_merge(const HostPlan& plan, const attnplan_hip_attention& a, AttentionLaunch* launch) {
  const AttentionArgs& args = launch->args;
  MergeArgs& merge = launch->merge;
  merge.segment = args.segment;
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

Status workspace_of(const Layer& layer, const HostPlan& plan, Workspace* workspace, Error* error) {
  *workspace = {};
  const attnplan_work* work;
  const Status status = read_work(plan, &work, error);
  if (status != Status::kOk) return status;
  if (work->num_slots < 0 || work->max_slots < 0 || work->query_tile < 1) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, work->num_slots, 0,
                      "plan: section WORK has negative figures");
  }
  const int64_t slots = std::max(work->num_slots, work->max_slots);
  const int64_t rows = slots * work->query_tile;
  const int64_t row_bytes = int64_t{layer.attention.v_head_size} * int64_t{sizeof(float)};
  workspace->slots = slots;
  workspace->out_bytes = rows * row_bytes;
  workspace->bytes = workspace->out_bytes + rows * int64_t{sizeof(float)};
  return Status::kOk;
}

Status check_launch(const attnplan_hip_launch_args* given, AttentionLaunch* launch, Error* error) {
  attnplan_hip_launch_args copy;
  const attnplan_hip_launch_args* args;
  Layer layer;
  HostPlan plan;
  const attnplan_work* work = nullptr;
  Workspace workspace;
  Status status = read_struct(given, &copy, &args, "attnplan_hip_launch_args", error);
  if (status == Status::kOk) status = check_flags(*args, error);
  if (status == Status::kOk) status = read_layer(args->attention, &layer, error);
  if (status == Status::kOk && !layer.has_cache()) {
    status =
        error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "attention: kv_cache is NULL");
  }
  if (status == Status::kOk) status = check_supported(layer, error);
  if (status == Status::kOk) status = HostPlan::read(args->plan, &plan, error);
  if (status == Status::kOk) status = fill_attention(*args, layer, plan, &launch->args, error);
  if (status == Status::kOk) status = read_work(plan, &work, error);
  if (status == Status::kOk) status = check_tiles(*work, error);
  if (status == Status::kOk) status = workspace_of(layer, plan, &workspace, error);
  if (status == Status::kOk) status = check_workspace(*args, workspace, error);
  if (status != Status::kOk) return status;

  const attnplan_hip_attention& a = layer.attention;
  launch->kernel = {layer.view_dtype, a.head_size, a.v_head_size, layer.shuffled(), 1};
  launch->workers = work->workers;
  launch->args.items = plan.device<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS);
  launch->args.worker_indptr = plan.device<int32_t>(ATTNPLAN_SECTION_WORKER_INDPTR);
  launch->args.query_tile = work->query_tile;
  launch->args.partial_out = static_cast<float*>(args->workspace);
  launch->args.partial_lse =
      reinterpret_cast<float*>(static_cast<std::byte*>(args->workspace) + workspace.out_bytes);
  launch->merges = workspace.slots > 0;
  fill_merge(plan, a, launch);
  return Status::kOk;
}

}  // namespace attnplan::hip
