// From a caller's arguments to those of the kernels: everything is checked here, before anything is
// enqueued. Addresses depend on the layout of the plan alone, so that a captured launch serves the
// next plan of the same planner.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"
#include "hip/attention_args.h"
#include "hip/host_plan.h"
#include "hip/kernel_list.h"
#include "hip/layer.h"
#include "hip/m3_args.h"

namespace attnplan::hip {

// A call's arguments read and checked, whatever kernel is to run.
struct CheckedLaunch {
  attnplan_hip_launch_args given;
  Layer layer;
  HostPlan plan;
  AttentionArgs args;  // but the work and the workspace
};
Status read_launch(const attnplan_hip_launch_args* given, CheckedLaunch* checked, Error* error);

// paged_attention and merge.
struct DenseLaunch {
  KernelKey kernel;  // of kAttentionLines
  int32_t workers;   // blocks
  AttentionArgs args;
  bool merges;          // the plan can have partial outputs
  int64_t merge_units;  // rows of all tiles there may be
  MergeArgs merge;
};

Status check_dense(const CheckedLaunch& checked, DenseLaunch* launch, Error* error);

// m3_sparse and m3_merge.
struct SparseLaunch {
  KernelKey kernel;  // of kM3SparseLines
  int64_t units;     // (row, KV head, split)
  bool merges;       // there can be splits
  M3SparseArgs args;
};
Status check_sparse(const CheckedLaunch& checked, SparseLaunch* launch, Error* error);

// Rows that the tensors of a plan may have, those of a graph's pads included.
int32_t most_rows(const HostPlan& plan);
// Blocks that fill the device: the work list's workers, where the plan has one.
int32_t grid_workers(const HostPlan& plan);

// Partial outputs and their log-sum-exps.
struct Workspace {
  int64_t slots;
  int64_t out_bytes;  // the log-sum-exps follow
  int64_t bytes;
};
// `slots` of `rows` packed rows.
Workspace workspace_for(int64_t slots, int64_t rows, int64_t v_head_size);
Workspace sparse_workspace(const Layer& layer, const HostPlan& plan);
Status workspace_of(const Layer& layer, const HostPlan& plan, Workspace* workspace, Error* error);

Status check_workspace(const void* workspace, size_t bytes, int64_t need, Error* error);

// Of a segment: lengths and pages.
Status fill_segment(const HostPlan& plan, int32_t segment, const Layer& layer, AttentionArgs* args,
                    Error* error);
// Sections ROW_REQUEST and ROW_POSITION.
Status fill_rows(const HostPlan& plan, const int32_t** row_request, const int32_t** row_position,
                 Error* error);
// K, V and their scales, for pages of `page_size` tokens.
Status fill_cache(const attnplan_hip_kv* given, const Layer& layer, int32_t page_size,
                  AttentionArgs* args, Error* error);
Status fill_report(attnplan_hip_report* report, uint32_t flags, AttentionArgs* args, Error* error);

// What both kinds of attention read: tensors, cache and the segment's part of the plan. The
// segment's pages, dtype and lists have been checked.
Status fill_attention(const attnplan_hip_launch_args& given, const Layer& layer,
                      const HostPlan& plan, AttentionArgs* args, Error* error);

}  // namespace attnplan::hip
