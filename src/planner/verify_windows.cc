// What extend requests fetch under a window, the batches of local attention, launches.
#include <algorithm>

#include "planner/verify_checks.h"

namespace attnplan {
namespace {

bool check_window(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_WINDOW, kStart = ATTNPLAN_SECTION_WINDOW_START,
                    kCuLen = ATTNPLAN_SECTION_WINDOW_CU_LEN;
  if (!blob.has(kSection)) {
    return !blob.has(kStart) && !blob.has(kCuLen) ? true
                                                  : checks->wrong(at(kStart), "has no window");
  }
  int64_t requests = 0;
  for (const attnplan_segment& s : blob.segments) {
    if (s.route == static_cast<int32_t>(Route::kExtend)) requests += s.req_end - s.req_begin;
  }
  if (!check_extent(blob, kSection, 1, 1, checks) ||
      !check_extent(blob, kStart, requests, requests, checks) ||
      !check_extent(blob, kCuLen, requests + 1, requests + 1, checks)) {
    return false;
  }
  const attnplan_window& window = blob.plan.values<attnplan_window>(kSection)[0];
  if (!checks->is(at(kSection), "num_requests", window.num_requests, requests) ||
      !checks->in(at(kSection), "max_len", window.max_len, 0, INT32_MAX) ||
      !checks->in(at(kSection), "total", window.total, window.max_len, requests * window.max_len)) {
    return false;
  }
  const auto starts = blob.ints(kStart), sums = blob.ints(kCuLen);
  if (sums.empty()) return checks->wrong(at(kCuLen), "is not there");
  if (!checks->is(at(kCuLen, 0), "sum", sums[0], 0)) return false;
  size_t i = 0;
  for (const attnplan_segment& s : blob.segments) {
    if (s.route != static_cast<int32_t>(Route::kExtend)) continue;
    for (int64_t position = s.req_begin; position < s.req_end; ++position, ++i) {
      const auto index = static_cast<int64_t>(i);
      const int64_t most = std::min<int64_t>(int64_t{sums[i]} + window.max_len, INT32_MAX);
      if (!checks->in(at(kCuLen, index + 1), "sum", sums[i + 1], sums[i], most)) return false;
      const int64_t len = int64_t{sums[i + 1]} - sums[i];
      if (!checks->in(
              at(kStart, index), "token", starts[i], 0,
              len > 0 ? s.max_seq_len - len : int64_t{s.max_context_len} + s.max_query_len)) {
        return false;
      }
    }
  }
  return checks->is(at(kCuLen, requests), "sum", sums.back(),
                    std::min<int64_t>(window.total, INT32_MAX));
}

// Pieces of the live requests in order, which together have all rows.
bool check_local(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_LOCAL;
  if (!blob.has(kSection)) return true;
  int64_t request = -1, taken = 0, rows = 0, i = 0;
  for (const attnplan_local_batch& piece : blob.plan.values<attnplan_local_batch>(kSection)) {
    const Place place = at(kSection, i++);
    if (!checks->in(place, "request", piece.request, std::max<int64_t>(request, 0),
                    blob.requests - 1)) {
      return false;
    }
    const attnplan_segment* s = blob.segment_of(piece.request);
    if (s == nullptr) return checks->wrong(place, "is a pad's", piece.request);
    if (piece.request != request) taken = 0;
    request = piece.request;
    const int64_t behind = int64_t{s->max_context_len} + s->max_query_len;
    if (!checks->in(place, "query_len", piece.query_len, 1, blob.most_rows(*s, request) - taken) ||
        !checks->in(place, "seq_len", piece.seq_len, 0, behind) ||
        (piece.seq_len > 0 &&
         !checks->in(place, "first_block", piece.first_block, 0, behind - 1))) {
      return false;
    }
    taken += piece.query_len;
    rows += piece.query_len;
  }
  return checks->is(at(kSection), "sum of query_len", rows, blob.rows);
}

// A grid covers its segment; under a full graph all of the graph, which the planner's limits bound
// where it has no width.
bool check_grid(const Blob& blob, const attnplan_segment& s, const attnplan_launch& launch,
                Place place, Checks* checks) {
  const attnplan_plan_header& h = blob.header;
  const int64_t requests = int64_t{s.req_end} - s.req_begin;
  const bool full = (h.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0 && h.graph_kind == ATTNPLAN_GRAPH_FULL;
  const int64_t rows = full ? h.graph_rows : int64_t{s.row_end} - s.row_begin;
  if (!checks->is(place, "rows", launch.rows, rows)) return false;
  if (!full) return checks->is(place, "requests", launch.requests, requests);
  if (h.graph_width > 0) return checks->is(place, "requests", launch.requests, h.graph_requests);
  const int64_t limit = blob.state != nullptr ? blob.state->config.limits.max_num_seqs : INT32_MAX;
  const int64_t most = std::max<int64_t>({requests, limit, h.graph_rows});
  return checks->in(place, "requests", launch.requests, requests, most);
}

bool check_launch(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_LAUNCH;
  if (!blob.has(kSection)) return true;
  const auto segments = static_cast<int64_t>(blob.segments.size());
  if (!check_extent(blob, kSection, segments, segments, checks)) return false;
  int64_t i = 0;
  for (const attnplan_launch& launch : blob.plan.values<attnplan_launch>(kSection)) {
    const attnplan_segment& s = blob.segments[static_cast<size_t>(i)];
    const Place place = at(kSection, i);
    if (!checks->is(place, "segment", launch.segment, i++) ||
        !check_grid(blob, s, launch, place, checks) ||
        !checks->in(place, "query_tiles", launch.query_tiles, 1, INT32_MAX) ||
        !checks->in(place, "num_splits", launch.num_splits, 0, INT32_MAX) ||
        !checks->in(place, "max_seq_len", launch.max_seq_len, 0, INT32_MAX) ||
        !checks->in(place, "scratch_bytes", launch.scratch_bytes, 0,
                    launch.num_splits > 0 ? INT64_MAX : 0)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool check_windows(const Blob& blob, Checks* checks) {
  return check_window(blob, checks) && check_local(blob, checks) && check_launch(blob, checks);
}

}  // namespace attnplan
