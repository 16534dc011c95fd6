#include "planner/verify_checks.h"

#include <algorithm>
#include <cstdio>

namespace attnplan {
namespace {

using ll = long long;

// "seq_lens[3]", "header".
struct Words {
  explicit Words(Place place) {
    if (place.index < 0) {
      std::snprintf(text, sizeof text, "%s", place.part);
    } else {
      std::snprintf(text, sizeof text, "%s[%lld]", place.part, ll{place.index});
    }
  }
  char text[64];
};

}  // namespace

bool Checks::wrong(Place place, const char* why, int64_t value, int64_t limit) {
  error_->set(Status::kInvalidArgument, Code::kNone, -1, value, limit,
              "not a sound plan: %s %s (%lld, limit %lld)", Words(place).text, why, ll{value},
              ll{limit});
  return false;
}

bool Checks::range_complaint(Place place, const char* what, int64_t value, int64_t low,
                             int64_t high) {
  error_->set(Status::kInvalidArgument, Code::kNone, -1, value, value < low ? low : high,
              "not a sound plan: %s: %s is %lld, must be in [%lld, %lld]", Words(place).text, what,
              ll{value}, ll{low}, ll{high});
  return false;
}

bool Checks::value_complaint(Place place, const char* what, int64_t value, int64_t expected) {
  error_->set(Status::kInvalidArgument, Code::kNone, -1, value, expected,
              "not a sound plan: %s: %s is %lld, must be %lld", Words(place).text, what, ll{value},
              ll{expected});
  return false;
}

const attnplan_segment* Blob::segment_of(int64_t position) const {
  const auto behind = std::upper_bound(
      segments.begin(), segments.end(), position,
      [](int64_t at, const attnplan_segment& segment) { return at < segment.req_begin; });
  if (behind == segments.begin()) return nullptr;
  const attnplan_segment& segment = *(behind - 1);
  return position < segment.req_end ? &segment : nullptr;
}

int64_t Blob::query_len(const attnplan_segment& segment, int64_t position) const {
  const auto starts = ints(ATTNPLAN_SECTION_QUERY_START_LOC);
  if (starts.empty()) return segment.width > 0 ? segment.width : -1;
  const auto i =
      static_cast<size_t>(segment.query_start_loc_begin + (position - segment.req_begin));
  return starts[i] < 0 || starts[i + 1] < 0 ? -1 : int64_t{starts[i + 1]} - starts[i];
}

}  // namespace attnplan
