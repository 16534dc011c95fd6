// The sections of a plan: how many elements each has, how far its values can be trusted, and the
// values. docs/planning.md, "Sections". One pair of functions per family.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/capacity.h"
#include "planner/plan.h"

namespace attnplan {

struct SectionSpec {
  int32_t id;
  uint16_t type;
  uint8_t extent;
  uint8_t validity;
  int64_t offset;    // bytes from the start of the blob
  int64_t count;     // elements with values
  int64_t capacity;  // elements there is room for
  int64_t used;      // elements written: values and the fill of graph pads
  int64_t element_bytes;
};

inline size_t align_section(size_t bytes) {
  return (bytes + ATTNPLAN_PLAN_ALIGNMENT - 1) & ~size_t{ATTNPLAN_PLAN_ALIGNMENT - 1};
}

// The sections of a plan in ascending id, placed one behind the other.
class SectionList {
 public:
  static constexpr int kMax = 36;

  // `front`: bytes before the first section. `fixed`: every section keeps its capacity.
  SectionList(size_t front, bool fixed) : end_(front), fixed_(fixed) {}

  // `capacity` is what the planner's limits allow; it takes effect under a fixed layout.
  void add(int32_t id, uint16_t type, uint8_t extent, uint8_t validity, size_t element_bytes,
           int64_t count, int64_t used, int64_t capacity) {
    const size_t offset = align_section(end_);
    if (!fixed_) capacity = used;
    if (capacity > 0) end_ = offset + static_cast<size_t>(capacity) * element_bytes;
    specs_[size_++] = {id,
                       type,
                       extent,
                       validity,
                       static_cast<int64_t>(offset),
                       count,
                       capacity,
                       used,
                       static_cast<int64_t>(element_bytes)};
  }
  void add_ints(int32_t id, uint8_t extent, uint8_t validity, int64_t count, int64_t used,
                int64_t capacity) {
    add(id, ATTNPLAN_TYPE_INT32, extent, validity, sizeof(int32_t), count, used, capacity);
  }
  template <typename Record>
  void add_records(int32_t id, uint16_t type, int64_t count, int64_t capacity) {
    add(id, type, ATTNPLAN_EXTENT_OTHER, ATTNPLAN_VALIDITY_EXACT, sizeof(Record), count, count,
        capacity);
  }
  SectionSpec& last() { return specs_[size_ - 1]; }
  SectionSpec* begin() { return specs_; }
  SectionSpec* end() { return specs_ + size_; }
  int size() const { return size_; }
  size_t total_bytes() const { return align_section(end_); }

 private:
  int size_ = 0;
  size_t end_;
  bool fixed_;
  SectionSpec specs_[kMax];
};

// Families, in ascending id. `plan` null: only capacities are asked for.
void describe_records(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_requests(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_pages(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_chunks(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_windows(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_context_parallel(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_launch(const Plan* plan, const Planner::State& state, SectionList* list);
void describe_work(const Plan* plan, const Planner::State& state, SectionList* list);

void write_records(const Plan& plan, const SectionSpec& spec, std::byte* out);
void write_requests(const Plan& plan, const SectionSpec& spec, std::byte* out);
void write_pages(const Plan& plan, const SectionSpec& spec, std::byte* out);
void write_chunks(const Plan& plan, const SectionSpec& spec, std::byte* out);
void write_windows(const Plan& plan, const SectionSpec& spec, std::byte* out);
void write_launch(const Plan& plan, const SectionSpec& spec, std::byte* out);
void write_work(const Plan& plan, const SectionSpec& spec, std::byte* out);

inline void describe_sections(const Plan* plan, const Planner::State& state, SectionList* list) {
  describe_records(plan, state, list);
  if (state.config.sections == 0 && state.config.work == Work::kNone) return;
  describe_requests(plan, state, list);
  describe_pages(plan, state, list);
  describe_chunks(plan, state, list);
  describe_windows(plan, state, list);
  describe_context_parallel(plan, state, list);
  describe_launch(plan, state, list);
  describe_work(plan, state, list);
}

}  // namespace attnplan
