// The parts of refresh(). Internal.
#pragma once

#include <algorithm>
#include <vector>

#include "cpu/refresh.h"

namespace attnplan::cpu {

struct RefreshRequest {
  int64_t input = 0;  // of the step
  int64_t rows = 0;
  int64_t tokens = 0;   // that the cache has room for; 0 of a pad
  int64_t context = 0;  // even where that is beyond `tokens`
  bool cut = false;
  int64_t first_row = 0;

  bool live() const { return rows > 0; }
  int64_t context_in_cache() const { return std::min(context, tokens); }
};

class RefreshPlan {
 public:
  RefreshPlan(std::span<std::byte> plan, const DeviceStep& step, const RefreshRules& rules);

  attnplan_plan_header& header() const {
    return *reinterpret_cast<attnplan_plan_header*>(plan_.data());
  }
  attnplan_section* find(int32_t id) const;  // null: not in the plan
  bool wanted(int32_t id) const { return rules.sections == 0 || (rules.sections >> id & 1) != 0; }

  // All that a section has room for; empty where it is not there, or neither it nor the section
  // that brings it is to be written.
  template <typename T>
  std::span<T> room(int32_t id, int32_t brought_by = 0) const {
    const attnplan_section* section = find(id);
    if (section == nullptr || section->capacity == 0) return {};
    if (!wanted(brought_by != 0 ? brought_by : id)) return {};
    return {reinterpret_cast<T*>(plan_.data() + section->offset),
            static_cast<size_t>(section->capacity)};
  }
  // The elements in use of a section, to be written or not.
  template <typename T>
  std::span<T> values(int32_t id) const {
    const attnplan_section* section = find(id);
    if (section == nullptr) return {};
    return {reinterpret_cast<T*>(plan_.data() + section->offset),
            static_cast<size_t>(section->count)};
  }
  template <typename T>
  static void put(std::span<T> out, int64_t index, T value) {
    if (0 <= index && index < static_cast<int64_t>(out.size())) {
      out[static_cast<size_t>(index)] = value;
    }
  }
  // A list whose length follows the lengths.
  void set_count(int32_t id, int64_t count);

  // Pads of full width stand at [first_pad, end_of_full_pads).
  bool full_pad(int64_t position) const {
    return first_pad <= position && position < end_of_full_pads;
  }

  const DeviceStep& step;
  const RefreshRules& rules;
  std::vector<RefreshRequest> requests;  // in plan order
  std::span<attnplan_segment> segments;
  int64_t num_rows;       // of the plan
  int64_t first_pad = 0;  // plan position behind the last segment
  int64_t end_of_full_pads = 0;
  int64_t padded_requests = 0;
  RefreshFindings findings;

 private:
  void read_requests();
  int64_t most_tokens(int64_t input) const;
  void find_pads();

  std::span<std::byte> plan_;
};

void refresh_requests(RefreshPlan* plan);  // starts, lengths, rows, slots
void refresh_pages(RefreshPlan* plan);
void refresh_segments(RefreshPlan* plan);
void refresh_chunks(RefreshPlan* plan);
void refresh_windows(RefreshPlan* plan);  // windows and local attention
void refresh_work(RefreshPlan* plan);

}  // namespace attnplan::cpu
