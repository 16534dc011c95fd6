// A plan as its host copy shows it, and where the same things lie on the device. Whatever is read
// here is checked to be inside the plan; what the sections say is the planner's responsibility.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnplan/error.h"
#include "attnplan_hip.h"

namespace attnplan::hip {

class HostPlan {
 public:
  // The host copy alone.
  static Status read(const void* plan, size_t bytes, HostPlan* out, Error* error);
  // Both copies.
  static Status read(const attnplan_hip_plan* given, HostPlan* out, Error* error);

  const attnplan_plan_header& header() const { return *header_; }
  // NULL where the plan has none. Room and elements in use are inside the plan.
  const attnplan_section* find(int32_t id) const { return sections_[id]; }

  // PLAN_ERROR where it is missing: the message says how to ask for it.
  Status need(int32_t id, Error* error) const;

  template <class T>
  const T* host(int32_t id) const {
    return reinterpret_cast<const T*>(host_ + sections_[id]->offset);
  }
  template <class T>
  const T* device(int32_t id) const {
    return reinterpret_cast<const T*>(device_ + sections_[id]->offset);
  }
  void* device_plan() const { return device_; }
  // The entry of the section table itself.
  const attnplan_section* device_entry(int32_t id) const {
    return reinterpret_cast<const attnplan_section*>(
        device_ + (reinterpret_cast<const std::byte*>(sections_[id]) - host_));
  }

  // Whether it has none, as the plan of an empty batch.
  bool no_segments() const;
  // An error where the plan has no such segment. The first of a plan without any is all zeros: its
  // launch has a full graph's rows to write.
  Status segment(int32_t index, attnplan_segment* segment, Error* error) const;

 private:
  Status read_table(Error* error);
  // Counts, and the figures of segments and work list.
  Status check(Error* error) const;

  const std::byte* host_ = nullptr;
  std::byte* device_ = nullptr;
  const attnplan_plan_header* header_ = nullptr;
  const attnplan_section* sections_[ATTNPLAN_SECTION_END] = {};
};

}  // namespace attnplan::hip
