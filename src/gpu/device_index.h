// MiniMax-M3 on the device: the index, its queries, and which blocks come of them.
#pragma once

#include <cstddef>

#include "cpu/values.h"
#include "gpu/device_tensors.h"

namespace attnplan::gpu {

class DeviceIndex {
 public:
  // `batch.sparse` is there.
  DeviceIndex(const Device& device, const DevicePlan& plan, const Batch& batch,
              const cpu::Values& values, const cpu::Origins& origins);

  // For one segment. Throws std::runtime_error with the library's words.
  void select(const Device& device, const DevicePlan& plan, const attnplan_hip_plan& both,
              int32_t segment) const;
  const int32_t* selected() const { return static_cast<const int32_t*>(selected_); }

 private:
  std::vector<uint8_t> queries(cpu::Format format, const cpu::Values& values) const;
  std::vector<uint8_t> keys(cpu::Format format, const cpu::Values& values,
                            const cpu::Origins& origins) const;

  const Batch& batch_;
  Uploads uploads_;
  void* keys_ = nullptr;
  void* queries_ = nullptr;
  void* selected_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
};

}  // namespace attnplan::gpu
