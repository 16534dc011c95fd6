// What a launch reads and writes, in memory of the device: queries, a filled cache, room for
// outputs. Nobody's memory is NaN.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cpu/block_table.h"
#include "cpu/formats.h"
#include "cpu/kv_layout.h"
#include "cpu/lengths.h"
#include "cpu/output.h"
#include "cpu/shape.h"
#include "cpu/values.h"
#include "gpu/device.h"
#include "gpu/device_plan.h"
#include "gpu/uploads.h"

namespace attnplan::gpu {

// A batch as it is run.
struct Batch {
  cpu::Lengths lengths;
  cpu::AttentionShape shape;
  cpu::BlockTable table;
  std::optional<cpu::M3Params> sparse;
  std::vector<int64_t> plan_row;  // [rows of the step]
};

// Of a dtype that caches and queries have. Throws std::runtime_error for any other.
cpu::Format format_of(attnplan_dtype dtype);

class DeviceTensors {
 public:
  DeviceTensors(const Device& device, const DevicePlan& plan, const Batch& batch,
                const cpu::Values& values, const cpu::Origins& origins);

  void* plan() const { return plan_; }
  void* q() const { return q_; }
  void* out() const { return out_; }
  float* lse() const { return static_cast<float*>(lse_); }
  void* workspace() const { return workspace_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  attnplan_hip_kv kv() const;

  // [rows] in plan order, behind them those that a full graph adds.
  cpu::Output read_output() const;

 private:
  std::vector<uint8_t> queries() const;
  std::vector<uint8_t> cache() const;
  void fill_token(int32_t request, int64_t token, cpu::Tensor tensor,
                  const cpu::TensorLayout& where, int32_t size, std::vector<uint8_t>* bytes) const;
  // Pairs of a row and a head.
  size_t queried() const {
    return static_cast<size_t>(batch_.lengths.rows() * batch_.shape.num_q_heads);
  }
  size_t outputs() const { return static_cast<size_t>(rows_ * batch_.shape.num_q_heads); }

  Uploads uploads_;
  const Batch& batch_;
  const cpu::Values& values_;
  const cpu::Origins& origins_;
  int64_t rows_;  // of the output
  cpu::Format q_format_;
  cpu::Format cache_format_;
  cpu::KvLayout layout_;
  bool lhbnc_;
  bool packed_;
  bool token_scales_;
  void* plan_ = nullptr;
  void* q_ = nullptr;
  void* cache_ = nullptr;
  void* scales_ = nullptr;
  void* out_ = nullptr;
  void* lse_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

}  // namespace attnplan::gpu
