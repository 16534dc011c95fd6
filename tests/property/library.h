// The planner under test, called the way an engine calls it: through the C ABI.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "attnplan.h"

namespace attnplan::property {

// 64-byte aligned memory of exactly `bytes` bytes, filled with a pattern that is no plan.
class Buffer {
 public:
  static constexpr uint8_t kFill = 0xa5;

  explicit Buffer(size_t bytes = 0);
  uint8_t* data() { return memory_.get(); }
  const uint8_t* data() const { return memory_.get(); }
  size_t size() const { return bytes_; }
  bool untouched() const;
  bool operator==(const Buffer& other) const;

 private:
  struct Free {
    void operator()(uint8_t* pointer) const { std::free(pointer); }
  };
  size_t bytes_;
  std::unique_ptr<uint8_t, Free> memory_;
};

// An error struct with room for every list a planner can fill.
class Error {
 public:
  explicit Error(size_t requests = 0, size_t kernels = 0);
  Error(const Error&) = delete;
  Error& operator=(const Error&) = delete;

  attnplan_error* get() { return &error_; }
  const attnplan_error& raw() const { return error_; }
  std::span<const attnplan_refusal> refusals() const;
  std::span<const int32_t> requests() const;

 private:
  std::vector<attnplan_refusal> refusals_;
  std::vector<int32_t> requests_;
  attnplan_error error_ = ATTNPLAN_ERROR_INIT;
};

struct DestroyPlanner {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
};
struct DestroyScratch {
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};
using Planner = std::unique_ptr<attnplan_planner, DestroyPlanner>;
using Scratch = std::unique_ptr<attnplan_scratch, DestroyScratch>;

// Null where the call failed; `error` says why.
Planner create_planner(const attnplan_config& config, Error* error);
Scratch create_scratch();

// Asks for the size and builds into a buffer of exactly that size. An empty buffer on failure.
Buffer build(const attnplan_planner* planner, attnplan_scratch* scratch, const attnplan_step& step,
             const attnplan_group* group, Error* error);

// A plan's parts, read through the accessors.
const attnplan_plan_header& header_of(const Buffer& plan);
std::span<const attnplan_segment> segments_of(const Buffer& plan);
// Absent sections give a null data pointer.
attnplan_section_view section_of(const Buffer& plan, int32_t section);
std::span<const int32_t> int32_section(const Buffer& plan, int32_t section);
std::span<const attnplan_refusal> refusals_of(const Buffer& plan, const attnplan_segment& segment);

}  // namespace attnplan::property
