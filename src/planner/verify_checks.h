// What the checks of a plan's structure share: the plan, and complaints that name their place.
// Nothing here or in the verify_*.cc files knows how a section is written.
#pragma once

#include <cstdint>
#include <span>

#include "attnplan/error.h"
#include "attnplan/plan.h"
#include "planner/section_names.h"
#include "planner/state.h"

namespace attnplan {

struct Place {
  const char* part;    // "header", or the name of a section
  int64_t index = -1;  // of the element
};
inline Place at(int32_t section, int64_t index = -1) { return {section_name(section), index}; }

// Keeps the first complaint. Every check says whether all is well so far.
class Checks {
 public:
  explicit Checks(Error* error) : error_(error) {}

  // low <= value <= high.
  bool in(Place place, const char* what, int64_t value, int64_t low, int64_t high) {
    return (low <= value && value <= high) || range_complaint(place, what, value, low, high);
  }
  bool is(Place place, const char* what, int64_t value, int64_t expected) {
    return value == expected || value_complaint(place, what, value, expected);
  }
  // For what two figures cannot say.
  bool wrong(Place place, const char* why, int64_t value = 0, int64_t limit = 0);

 private:
  bool range_complaint(Place place, const char* what, int64_t value, int64_t low, int64_t high);
  bool value_complaint(Place place, const char* what, int64_t value, int64_t expected);

  Error* error_;
};

// A plan whose header and section table are sound.
struct Blob {
  const PlanView& plan;
  const attnplan_plan_header& header;
  const Planner::State* state;  // null: not given, then what only it knows is not checked
  std::span<const attnplan_segment> segments;
  int64_t requests;         // n
  int64_t rows;             // of the step
  int64_t padded_requests;  // with those that a graph adds
  int64_t padded_rows;

  bool has(int32_t section) const { return plan.find(section) != nullptr; }
  // Host values would be wrong: elements may be -1.
  bool device(int32_t section) const {
    const attnplan_section* found = plan.find(section);
    return found != nullptr && found->validity == ATTNPLAN_VALIDITY_DEVICE;
  }
  // Of the elements in use.
  int64_t count(int32_t section) const {
    const attnplan_section* found = plan.find(section);
    return found != nullptr ? found->count : 0;
  }
  // All that there is room for: values, and behind them what is said of a graph's pads.
  template <typename T>
  std::span<const T> room(int32_t section) const {
    const attnplan_section* found = plan.find(section);
    if (found == nullptr || found->capacity == 0) return {};
    return {reinterpret_cast<const T*>(plan.data(*found)), static_cast<size_t>(found->capacity)};
  }
  std::span<const int32_t> ints(int32_t section) const { return plan.values<int32_t>(section); }

  // The segment that holds a plan position; null for a pad outside of all.
  const attnplan_segment* segment_of(int64_t position) const;
  // Rows of a request by QUERY_START_LOC, which must have been checked; -1 where it is absent or
  // only the device knows.
  int64_t query_len(const attnplan_segment& segment, int64_t position) const;
  // The most rows a request of the segment may have.
  int64_t most_rows(const attnplan_segment& segment, int64_t position) const {
    const int64_t known = query_len(segment, position);
    return known >= 0 ? known : segment.max_query_len;
  }
};

// As many values as `count`, and room for `padded`, if the plan has the section.
bool check_extent(const Blob& blob, int32_t section, int64_t count, int64_t padded, Checks* checks);

// One for each family, in this order: later ones rely on what earlier ones found.
bool check_front(const void* plan, size_t plan_bytes, Checks* checks, PlanView* view);
bool check_header(const Blob& blob, Checks* checks);
bool check_segments(const Blob& blob, Checks* checks);
bool check_requests(const Blob& blob, Checks* checks);
bool check_pages(const Blob& blob, Checks* checks);
bool check_chunks(const Blob& blob, Checks* checks);
bool check_windows(const Blob& blob, Checks* checks);
bool check_work(const Blob& blob, Checks* checks);

}  // namespace attnplan
