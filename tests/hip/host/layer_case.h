// A layer, a planner made with the module's contracts for it, and a launch of what that planned.
// Nothing here touches a device: its pointers are only looked at.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "attnplan.h"
#include "attnplan_hip.h"

namespace attnplan::hip_test {

struct LayerCase {
  std::string arch = "gfx942";
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  attnplan_hip_attention attention = ATTNPLAN_HIP_ATTENTION_INIT;
  std::vector<int32_t> query_lens = {1, 1, 30};
  std::vector<int32_t> seq_lens = {40, 7, 90};
  int32_t decode_threshold = 1;
  bool fixed_layout = false;

  LayerCase();
};

// Of attnplan_hip_contracts, or of the profile of that name.
class LayerPlan {
 public:
  LayerPlan(const LayerCase& layer, const char* profile);

  // Of the planner, or OK.
  attnplan_status status() const { return status_; }
  const attnplan_error& error() const { return error_; }
  void* data() const { return blob_.get(); }
  size_t bytes() const { return bytes_; }
  const attnplan_plan_header& header() const { return *attnplan_plan_get_header(data(), bytes()); }

 private:
  attnplan_status make(const LayerCase& layer, const char* profile);

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> blob_;
  size_t bytes_ = 0;
  attnplan_error error_ = ATTNPLAN_ERROR_INIT;
  attnplan_status status_;
};

// A launch of the plan that there is nothing to say against.
struct LaunchCase {
  LaunchCase(const LayerCase& layer, const LayerPlan& plan);
  LaunchCase(const LaunchCase&) = delete;
  LaunchCase& operator=(const LaunchCase&) = delete;

  LayerCase layer;
  attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
  attnplan_hip_plan plan = ATTNPLAN_HIP_PLAN_INIT;
  attnplan_hip_launch_args args = ATTNPLAN_HIP_LAUNCH_ARGS_INIT;
};

}  // namespace attnplan::hip_test
