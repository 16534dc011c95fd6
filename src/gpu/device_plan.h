// A batch planned for a GPU: the same requests and rules, the kernels of the companion library, and
// the sections that these read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "attnplan.h"
#include "cpu/block_table.h"
#include "cpu/lengths.h"
#include "cpu/shape.h"
#include "gpu/device.h"

namespace attnplan::gpu {

class DevicePlan {
 public:
  // Lengths count as exact. `top_k`: blocks that a row of MiniMax-M3 attends; 0: dense attention.
  // Throws std::runtime_error with the planner's or the library's words.
  DevicePlan(const Device& device, const attnplan_config& config, const attnplan_step& step,
             const cpu::Lengths& lengths, const cpu::AttentionShape& shape,
             const cpu::BlockTable& table, int32_t top_k);
  ~DevicePlan();
  DevicePlan(const DevicePlan&) = delete;
  DevicePlan& operator=(const DevicePlan&) = delete;

  const void* data() const { return plan_; }
  size_t bytes() const { return bytes_; }
  int32_t num_segments() const { return attnplan_plan_get_header(plan_, bytes_)->num_segments; }
  // Of the output: under a full graph all of the graph's.
  int64_t rows() const;
  const attnplan_kv_cache& cache() const { return cache_; }
  // What the cache's bytes are.
  attnplan_dtype view() const { return view_; }
  const attnplan_hip_attention& attention() const { return attention_; }

 private:
  void describe(const attnplan_config& config, const cpu::AttentionShape& shape,
                const cpu::BlockTable& table, int32_t top_k);
  void build(const attnplan_config& config, const attnplan_step& step, const cpu::Lengths& lengths,
             const cpu::BlockTable& table);

  std::string arch_;
  attnplan_kv_cache cache_ = ATTNPLAN_KV_CACHE_INIT;
  attnplan_hip_attention attention_ = ATTNPLAN_HIP_ATTENTION_INIT;
  attnplan_dtype view_ = ATTNPLAN_DTYPE_NONE;
  void* plan_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace attnplan::gpu
