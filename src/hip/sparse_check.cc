// Arguments of attention over selected blocks.
#include <algorithm>

#include "hip/argument_checks.h"
#include "hip/launch_check.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kDefaultWorkers = 256;

}  // namespace

int32_t most_rows(const HostPlan& plan) {
  const attnplan_plan_header& header = plan.header();
  const bool graph = header.graph_kind == ATTNPLAN_GRAPH_FULL;
  return std::max(header.num_rows, graph ? header.graph_rows : 0);
}

int32_t grid_workers(const HostPlan& plan) {
  const attnplan_section* work = plan.find(ATTNPLAN_SECTION_WORK);
  if (work == nullptr || work->count < 1) return kDefaultWorkers;
  return std::max(plan.host<attnplan_work>(ATTNPLAN_SECTION_WORK)->workers, 1);
}

// A slot for every block that runs at a time, whatever the batch: the device decides how they
// serve.
Workspace sparse_workspace(const Layer& layer, const HostPlan& plan) {
  return workspace_for(grid_workers(plan), layer.group(), layer.attention.v_head_size);
}

Status check_sparse(const CheckedLaunch& checked, SparseLaunch* launch, Error* error) {
  const attnplan_hip_launch_args& given = checked.given;
  const attnplan_hip_attention& a = checked.layer.attention;
  const Workspace workspace = sparse_workspace(checked.layer, checked.plan);
  Status status = check_pointer(error, "selected", given.selected, alignof(int32_t));
  if (status == Status::kOk) {
    status = check_workspace(given.workspace, given.workspace_bytes, workspace.bytes, error);
  }
  if (status == Status::kOk) {
    status = fill_rows(checked.plan, &launch->args.row_request, &launch->args.row_position, error);
  }
  if (status != Status::kOk) return status;

  AttentionArgs& args = launch->args.attention;
  args = checked.args;
  args.query_tile = args.group;
  args.selected = given.selected;
  args.top_k = a.top_k;
  status = read_selected_stride(error, given.selected_head_stride, most_rows(checked.plan), a.top_k,
                                &args.selected_head_stride);
  if (status != Status::kOk) return status;
  args.partial_out = static_cast<float*>(given.workspace);
  args.partial_lse =
      reinterpret_cast<float*>(static_cast<std::byte*>(given.workspace) + workspace.out_bytes);
  launch->args.slots = static_cast<int32_t>(workspace.slots);
  launch->args.v_head_size = a.v_head_size;
  attnplan_segment segment;
  status = checked.plan.segment(given.segment, &segment, error);
  if (status != Status::kOk) return status;
  const int32_t rows = segment.row_end - segment.row_begin;
  const int32_t splits = m3_splits(rows, a.num_kv_heads, a.top_k, launch->args.slots);
  // A replayed launch may meet fewer rows, and then split them, or more that a graph adds.
  const bool fixed = (checked.plan.header().flags & ATTNPLAN_PLAN_FIXED_LAYOUT) != 0;
  launch->merges = splits > 1 || fixed;
  const bool graph = checked.plan.header().graph_kind == ATTNPLAN_GRAPH_FULL;
  launch->units =
      int64_t{fixed || graph ? most_rows(checked.plan) : rows} * a.num_kv_heads * splits;
  launch->kernel = {checked.layer.view_dtype, a.head_size, a.v_head_size, checked.layer.shuffled(),
                    0};
  return Status::kOk;
}

}  // namespace attnplan::hip
