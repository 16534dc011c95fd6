// A plan and a step's tensors in device memory, and attnplan_hip_refresh on them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnplan_hip.h"
#include "cpu/refresh.h"
#include "hip/memory.h"
#include "hip/runtime.h"
#include "subject.h"

namespace attnplan::hip_test {

class RefreshDevice {
 public:
  // `host` is of the planner that made the plan; `narrow`: slots and rows of the table in 32 bits.
  // Throws std::runtime_error where there is no memory.
  RefreshDevice(const refresh::Batch& host, const cpu::RefreshRules& rules,
                const property::Buffer& plan, const refresh::Tensors& tensors, bool narrow);

  // The same addresses with the contents of another step. Its tensors are of the same sizes.
  void set(const refresh::Tensors& tensors);
  // Enqueues. Throws with the library's words where it refuses.
  void refresh(hip::Stream stream) const;
  void advance(int32_t max_model_len, hip::Stream stream) const;

  property::Buffer plan() const;
  uint32_t status() const;  // of the last refresh
  std::vector<int32_t> seq_lens() const;
  // What nobody may write: surroundings of every buffer, and all of the step but its lengths.
  std::string touched() const;

 private:
  // A tensor as it was last set.
  struct Copied {
    std::vector<uint8_t> bytes;
    std::unique_ptr<Buffer> buffer;
    void set(const void* from, size_t size);
    template <class T>
    void set(const std::vector<T>& from) {
      set(from.data(), from.size() * sizeof(T));
    }
    const void* device() const { return bytes.empty() ? nullptr : buffer->device(); }
  };
  void fill_args(const refresh::Tensors& tensors, const cpu::RefreshRules& rules);

  refresh::Batch host_;
  oracle::BatchStructs structs_;  // points into host_
  property::Buffer host_plan_;
  bool narrow_;
  attnplan_hip_attention attention_ = ATTNPLAN_HIP_ATTENTION_INIT;
  attnplan_hip_plan both_ = ATTNPLAN_HIP_PLAN_INIT;
  attnplan_hip_refresh_args args_ = ATTNPLAN_HIP_REFRESH_ARGS_INIT;
  Buffer plan_;
  Buffer report_;
  Copied query_start_loc_, seq_lens_, ids_, indptr_, table_rows_, slot_mapping_;
};

}  // namespace attnplan::hip_test
