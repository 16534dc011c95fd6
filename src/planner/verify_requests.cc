// Sections with one element a request or a row, and what lies behind them for the pads of a graph.
#include "planner/verify_checks.h"

namespace attnplan {
namespace {

// Starts of one segment, from 0 to its rows; where the device splits rows, -1 in between.
bool check_starts_of(const Blob& blob, const attnplan_segment& s, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_QUERY_START_LOC;
  const auto starts = blob.ints(kSection);
  const bool device = blob.device(kSection);
  const int64_t rows = int64_t{s.row_end} - s.row_begin;
  const int64_t requests = int64_t{s.req_end} - s.req_begin;
  int64_t before = 0, live = 0;
  bool known = true, all_known = true;
  for (int64_t i = 0; i <= requests; ++i) {
    const Place place = at(kSection, s.query_start_loc_begin + i);
    const int64_t start = starts[static_cast<size_t>(place.index)];
    if (device && i > 0 && start == -1) {
      known = all_known = false;
      continue;
    }
    if (!checks->in(place, "start", start, i == requests ? rows : before, i == 0 ? 0 : rows)) {
      return false;
    }
    const int64_t query_len = start - before;
    if (known && query_len > 0) {
      ++live;
      if (!checks->in(place, "rows of the request before", query_len, s.min_query_len,
                      s.max_query_len)) {
        return false;
      }
    }
    before = start;
    known = true;
  }
  return !all_known || checks->is(at(kSection, s.query_start_loc_begin), "live requests from here",
                                  live, s.num_live);
}

bool check_starts(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_QUERY_START_LOC;
  if (!blob.has(kSection)) return true;
  int64_t count = 0;
  for (const attnplan_segment& s : blob.segments) count += int64_t{s.req_end} - s.req_begin + 1;
  const bool none = blob.segments.empty();
  const int64_t first_pad = none ? 0 : blob.segments.back().req_end;
  const int64_t pads = blob.header.graph_width > 0 ? blob.padded_requests - first_pad + none : 0;
  if (!check_extent(blob, kSection, count, count + pads, checks)) return false;
  for (const attnplan_segment& s : blob.segments) {
    if (!check_starts_of(blob, s, checks)) return false;
  }
  const auto room = blob.room<int32_t>(kSection);
  const int64_t row_begin = none ? 0 : blob.segments.back().row_begin;
  int64_t before = none ? 0 : room[static_cast<size_t>(count - 1)];
  for (int64_t i = count; i < count + pads; ++i) {
    const int64_t start = room[static_cast<size_t>(i)];
    const int64_t most = none && i == count ? 0 : blob.padded_rows - row_begin;
    if (!checks->in(at(kSection, i), "start of a graph's pad", start, before, most)) return false;
    before = start;
  }
  return true;
}

// One length a request, at most what its segment says; `pad` of one outside of all segments.
bool check_lengths(const Blob& blob, int32_t section, int32_t attnplan_segment::*most, int32_t pad,
                   Checks* checks) {
  if (!blob.has(section)) return true;
  if (!check_extent(blob, section, blob.requests, blob.padded_requests, checks)) return false;
  const auto room = blob.room<int32_t>(section);
  const int64_t low = blob.device(section) ? -1 : 0;
  for (int64_t i = 0; i < blob.padded_requests; ++i) {
    const attnplan_segment* s = i < blob.requests ? blob.segment_of(i) : nullptr;
    if (!checks->in(at(section, i), "tokens", room[static_cast<size_t>(i)], low,
                    s != nullptr ? s->*most : pad)) {
      return false;
    }
  }
  return true;
}

// The rows of a graph's pads: nobody's, or one of its own requests', behind all live ones.
bool check_owners_of_pads(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_ROW_REQUEST;
  const auto room = blob.room<int32_t>(kSection);
  const int64_t first = blob.segments.empty() ? 0 : blob.segments.back().req_end;
  const int64_t last = blob.header.graph_width > 0 ? blob.padded_requests - 1 : -1;
  for (int64_t row = blob.rows; row < blob.padded_rows; ++row) {
    const int64_t owner = room[static_cast<size_t>(row)];
    if (owner == -1) continue;
    if (!checks->in(at(kSection, row), "request of a graph's pad", owner, first, last)) {
      return false;
    }
  }
  return true;
}

// Rows of each request one behind the other; where QUERY_START_LOC knows them, exactly those.
bool check_owners(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_ROW_REQUEST;
  if (!blob.has(kSection)) return true;
  if (!check_extent(blob, kSection, blob.rows, blob.padded_rows, checks)) return false;
  const auto owners = blob.ints(kSection);
  const bool device = blob.device(kSection);
  for (const attnplan_segment& s : blob.segments) {
    int64_t request = s.req_begin, taken = 0;
    for (int64_t row = s.row_begin; row < s.row_end; ++row) {
      const int64_t owner = owners[static_cast<size_t>(row)];
      if (device && owner == -1) continue;
      const Place place = at(kSection, row);
      if (!checks->in(place, "request", owner, request, int64_t{s.req_end} - 1)) return false;
      taken = owner == request ? taken + 1 : 1;
      request = owner;
      if (!checks->in(place, "rows of its request up to here", taken, 1,
                      blob.most_rows(s, request))) {
        return false;
      }
    }
  }
  return check_owners_of_pads(blob, checks);
}

// A position or a number of tokens for each row; behind them `pad` at most.
bool check_rows(const Blob& blob, int32_t section, const char* what, int64_t low, Checks* checks) {
  if (!blob.has(section)) return true;
  if (!check_extent(blob, section, blob.rows, blob.padded_rows, checks)) return false;
  const auto room = blob.room<int32_t>(section);
  for (const attnplan_segment& s : blob.segments) {
    const int64_t behind = int64_t{s.max_context_len} + s.max_query_len;
    const int64_t most = section == ATTNPLAN_SECTION_ROW_POSITION ? behind - 1 : s.max_seq_len;
    for (int64_t row = s.row_begin; row < s.row_end; ++row) {
      if (!checks->in(at(section, row), what, room[static_cast<size_t>(row)], low, most)) {
        return false;
      }
    }
  }
  for (int64_t row = blob.rows; row < blob.padded_rows; ++row) {
    if (!checks->in(at(section, row), what, room[static_cast<size_t>(row)], -1, 1)) return false;
  }
  return true;
}

}  // namespace

bool check_extent(const Blob& blob, int32_t section, int64_t count, int64_t padded,
                  Checks* checks) {
  const attnplan_section* found = blob.plan.find(section);
  return found == nullptr ||
         (checks->is(at(section), "count", found->count, count) &&
          checks->in(at(section), "capacity", found->capacity, padded, INT64_MAX));
}

bool check_requests(const Blob& blob, Checks* checks) {
  const int64_t unknown = blob.device(ATTNPLAN_SECTION_CONTEXT_PARALLEL) ? -1 : 0;
  return check_starts(blob, checks) &&
         check_lengths(blob, ATTNPLAN_SECTION_SEQ_LENS, &attnplan_segment::max_seq_len, 1,
                       checks) &&
         check_lengths(blob, ATTNPLAN_SECTION_CONTEXT_LENS, &attnplan_segment::max_context_len, 0,
                       checks) &&
         check_owners(blob, checks) &&
         check_rows(blob, ATTNPLAN_SECTION_ROW_POSITION, "position", -1, checks) &&
         check_rows(blob, ATTNPLAN_SECTION_CONTEXT_PARALLEL, "tokens", unknown, checks);
}

}  // namespace attnplan
