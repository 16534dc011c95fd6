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

namespace attnplan::hip {

struct AttentionLaunch {
  KernelKey kernel;  // of kAttentionLines
  int32_t workers;   // blocks
  AttentionArgs args;
  bool merges;          // the plan can have partial outputs
  int64_t merge_units;  // rows of all tiles there may be
  MergeArgs merge;
};

Status check_launch(const attnplan_hip_launch_args* given, AttentionLaunch* launch, Error* error);

// Partial outputs and their log-sum-exps.
struct Workspace {
  int64_t slots;
  int64_t out_bytes;  // the log-sum-exps follow
  int64_t bytes;
};
Status workspace_of(const Layer& layer, const HostPlan& plan, Workspace* workspace, Error* error);

// What both kinds of attention read: tensors, cache and the segment's part of the plan. The
// segment's pages, dtype and lists have been checked.
Status fill_attention(const attnplan_hip_launch_args& given, const Layer& layer,
                      const HostPlan& plan, AttentionArgs* args, Error* error);

}  // namespace attnplan::hip
