// A plan for the batch of a problem, through the public C API.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "attnplan.h"
#include "hip/description.h"
#include "hip/step.h"

namespace attnplan::hip_test {

// What the planner is told of the cache.
attnplan_kv_cache cache_of(const Description& description, const Step& step);

class Plan {
 public:
  // Throws std::runtime_error with the planner's words.
  Plan(const Description& description, const Step& step, Kernels kernels);

  const void* data() const { return blob_.get(); }
  size_t bytes() const { return bytes_; }
  // Rows of the output, those of a full graph included.
  int64_t rows() const;
  int32_t num_segments() const { return attnplan_plan_get_header(data(), bytes_)->num_segments; }
  const attnplan_segment& segment(int32_t i) const {
    return attnplan_plan_get_segments(data(), bytes_)[i];
  }
  attnplan_section_view section(int32_t id) const;  // data NULL: not there

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> blob_;
  size_t bytes_ = 0;
};

}  // namespace attnplan::hip_test
