// The batch of a workload, planned, and its plan on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attnplan.h"
#include "attnplan_hip.h"
#include "bench/gpu.h"
#include "bench/workload.h"

namespace attnplan::hip::bench {

struct Choices {
  int32_t page_size = 16;
  int32_t work = ATTNPLAN_WORK_AUTO;
  bool fp8 = false;
};

class PlannedStep {
 public:
  PlannedStep(Gpu& gpu, const Workload& workload, const Choices& choices,
              const attnplan_hip_device_info& device);
  ~PlannedStep();
  PlannedStep(const PlannedStep&) = delete;
  PlannedStep& operator=(const PlannedStep&) = delete;

  const attnplan_hip_attention& attention() const { return attention_; }
  const attnplan_hip_plan& plan() const { return plan_; }
  int32_t workers() const { return config_.num_workers; }
  std::string policy() const;
  // Physical page of token `position` of a request.
  int32_t page(int32_t request, int32_t position) const {
    return block_ids_[static_cast<size_t>(request) * pages_ + position / cache_.page_size];
  }
  int64_t num_pages() const { return cache_.num_blocks; }

 private:
  void describe_layer(const Workload& workload, const Choices& choices,
                      const attnplan_hip_device_info& device);
  void scatter_pages(const Workload& workload);
  void build(Gpu& gpu, const Workload& workload);

  attnplan_kv_cache cache_ = ATTNPLAN_KV_CACHE_INIT;
  attnplan_hip_attention attention_ = ATTNPLAN_HIP_ATTENTION_INIT;
  attnplan_config config_ = ATTNPLAN_CONFIG_INIT;
  attnplan_hip_plan plan_ = ATTNPLAN_HIP_PLAN_INIT;
  attnplan_planner* planner_ = nullptr;
  attnplan_scratch* scratch_ = nullptr;
  std::string arch_;
  int32_t pages_ = 0;  // of a request
  std::vector<int32_t> block_ids_;
  std::vector<uint64_t> host_;
  std::unique_ptr<Buffer> device_;
};

// Throws the error's message.
void check(attnplan_status status, const attnplan_error& error, const char* what);

}  // namespace attnplan::hip::bench
