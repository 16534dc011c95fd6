// Header, segments, refusals, warnings and the order against one another.
#include <algorithm>
#include <vector>

#include "attnplan/contract.h"
#include "planner/graph.h"
#include "planner/verify_checks.h"

namespace attnplan {
namespace {

constexpr Place kHeader{"header"};

// Figures per route, as the segments give them.
struct Totals {
  int64_t requests[4] = {};
  int64_t rows[4] = {};
  int64_t max_query_len[4] = {};
};

template <class T>
int32_t own(const Blob& blob, T Config::*field) {
  return blob.state != nullptr ? static_cast<int32_t>(blob.state->config.*field) : 0;
}
template <class T>
int32_t own_cache(const Blob& blob, T KvCache::*field) {
  const bool known = blob.state != nullptr && blob.state->config.kv_cache;
  return known ? static_cast<int32_t>((*blob.state->config.kv_cache).*field) : 0;
}
int32_t own_cache_flags(const Blob& blob) {
  int32_t flags = 0;
  if (own_cache(blob, &KvCache::packed) != 0) flags |= ATTNPLAN_PLAN_CACHE_PACKED;
  if (own_cache(blob, &KvCache::shuffle) != 0) flags |= ATTNPLAN_PLAN_CACHE_SHUFFLE;
  if (own_cache(blob, &KvCache::typed) != 0) flags |= ATTNPLAN_PLAN_CACHE_TYPED;
  return flags;
}

bool check_graph(const Blob& blob, Checks* checks) {
  const attnplan_plan_header& h = blob.header;
  const bool has = (h.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0;
  if (!checks->in(kHeader, "graph_kind", h.graph_kind, 0, has ? ATTNPLAN_GRAPH_FULL : 0)) {
    return false;
  }
  const bool runs = h.graph_kind != ATTNPLAN_GRAPH_NONE;
  const int64_t most = blob.state != nullptr ? max_graph_rows(blob.state->config) : INT32_MAX;
  if (!checks->in(kHeader, "graph_rows", h.graph_rows, runs ? blob.rows : has * blob.rows,
                  runs ? most : has * blob.rows) ||
      !checks->is(kHeader, "graph_pad_rows", h.graph_pad_rows, h.graph_rows - has * blob.rows) ||
      !checks->in(kHeader, "graph_width", h.graph_width, 0,
                  h.graph_kind == ATTNPLAN_GRAPH_FULL ? h.graph_rows : 0)) {
    return false;
  }
  if (h.graph_width == 0) {
    return checks->is(kHeader, "graph_requests", h.graph_requests, has ? -1 : 0) &&
           checks->is(kHeader, "graph_pad_requests", h.graph_pad_requests, 0);
  }
  int64_t live = 0;
  for (const attnplan_segment& s : blob.segments) live += s.num_live;
  return checks->is(kHeader, "graph_rows", h.graph_rows,
                    int64_t{h.graph_requests} * h.graph_width) &&
         checks->is(kHeader, "graph_pad_requests", h.graph_pad_requests, h.graph_requests - live);
}

// The model and the cache that the plan was made for: the planner's own, else at least possible.
bool check_model(const Blob& blob, Checks* checks) {
  const attnplan_plan_header& h = blob.header;
  const struct {
    const char* name;
    int32_t found;
    int32_t least;
    int32_t own;
  } figures[] = {
      {"num_q_heads", h.num_q_heads, 1, own(blob, &Config::num_q_heads)},
      {"num_kv_heads", h.num_kv_heads, 1, own(blob, &Config::num_kv_heads)},
      {"head_size", h.head_size, 1, own(blob, &Config::head_size)},
      {"v_head_size", h.v_head_size, 1, own(blob, &Config::v_head_size)},
      {"mask", h.mask, 0, own(blob, &Config::mask)},
      {"sliding_window", h.sliding_window, 0, own(blob, &Config::sliding_window)},
      {"num_blocks", h.num_blocks, 0, own_cache(blob, &KvCache::num_blocks)},
      {"block_size", h.block_size, 0, own_cache(blob, &KvCache::block_size)},
      {"layout", h.layout, 0, own_cache(blob, &KvCache::layout)},
  };
  for (const auto& f : figures) {
    const bool known = blob.state != nullptr;
    if (!checks->in(kHeader, f.name, f.found, known ? f.own : f.least, known ? f.own : INT32_MAX)) {
      return false;
    }
  }
  if (blob.state != nullptr &&
      !checks->is(kHeader, "cache_flags", h.cache_flags, own_cache_flags(blob))) {
    return false;
  }
  return checks->is(kHeader, "num_q_heads modulo num_kv_heads", h.num_q_heads % h.num_kv_heads,
                    0) &&
         checks->in(kHeader, "mask", h.mask, 0, static_cast<int32_t>(Mask::kFull)) &&
         checks->is(kHeader, "having a block_size", h.block_size > 0, h.num_blocks > 0);
}

bool check_counts(const Blob& blob, const Totals& totals, Checks* checks) {
  const attnplan_plan_header& h = blob.header;
  struct Named {
    const char* name;
    int64_t found;
    int64_t expected;
  };
  const int64_t live = totals.requests[1] + totals.requests[2] + totals.requests[3];
  const Named all[] = {
      {"num_decodes", h.num_decodes, totals.requests[1]},
      {"num_extends", h.num_extends, totals.requests[2]},
      {"num_prefills", h.num_prefills, totals.requests[3]},
      {"num_pads", h.num_pads, blob.requests - live},
      {"num_decode_tokens", h.num_decode_tokens, totals.rows[1]},
      {"num_extend_tokens", h.num_extend_tokens, totals.rows[2]},
      {"num_prefill_tokens", h.num_prefill_tokens, totals.rows[3]},
      {"max_decode_query_len", h.max_decode_query_len, totals.max_query_len[1]},
      {"max_extend_query_len", h.max_extend_query_len, totals.max_query_len[2]},
      {"max_prefill_query_len", h.max_prefill_query_len, totals.max_query_len[3]},
  };
  return std::all_of(std::begin(all), std::end(all), [checks](const Named& n) {
    return checks->is(kHeader, n.name, n.found, n.expected);
  });
}

// Requests and rows: one range behind the other, none left out.
bool check_ranges(const Blob& blob, const attnplan_segment& s, const attnplan_segment& before,
                  Place place, Checks* checks) {
  const int64_t refusals = blob.count(ATTNPLAN_SECTION_REFUSALS);
  const int64_t starts = before.req_end > 0 ? int64_t{before.query_start_loc_begin} +
                                                  before.req_end - before.req_begin + 1
                                            : 0;
  return checks->in(place, "req_begin", s.req_begin, before.req_end, blob.requests - 1) &&
         checks->in(place, "req_end", s.req_end, int64_t{s.req_begin} + 1, blob.requests) &&
         checks->is(place, "row_begin", s.row_begin, before.row_end) &&
         checks->in(place, "row_end", s.row_end, int64_t{s.row_begin} + 1, blob.rows) &&
         checks->in(place, "num_live", s.num_live, 1, s.req_end - s.req_begin) &&
         checks->in(place, "refusal_begin", s.refusal_begin, before.refusal_end, refusals) &&
         checks->in(place, "refusal_end", s.refusal_end, s.refusal_begin, refusals) &&
         checks->is(place, "query_start_loc_begin", s.query_start_loc_begin, starts);
}

bool check_kernel(const Blob& blob, const attnplan_segment& s, Place place, Checks* checks) {
  const Planner::State* state = blob.state;
  const int64_t last =
      state != nullptr ? static_cast<int64_t>(state->kernels.size()) - 1 : INT32_MAX;
  if (!checks->in(place, "route", s.route, static_cast<int32_t>(Route::kDecode),
                  static_cast<int32_t>(Route::kPrefill)) ||
      !checks->in(place, "kernel", s.kernel, 0, last) ||
      !checks->in(place, "page_size", s.page_size, 0, INT32_MAX) ||
      !checks->in(place, "label", s.label, 0, static_cast<int32_t>(Dtype::kE5m2fnuz)) ||
      !checks->in(place, "flags", s.flags, 0,
                  ATTNPLAN_SEGMENT_EXACT_QUERY_LENS | ATTNPLAN_SEGMENT_EXACT_SEQ_LENS)) {
    return false;
  }
  if (state == nullptr) return true;
  const Kernel& kernel = state->kernels[static_cast<size_t>(s.kernel)];
  return checks->is(place, "route", s.route, static_cast<int32_t>(kernel.route)) &&
         checks->is(place, "page_size", s.page_size, kernel.page_size) &&
         checks->is(place, "label", s.label, static_cast<int32_t>(kernel.label));
}

// A width is the one query length of all requests; else the extremes have to make the rows
// possible.
bool check_query_lens(const attnplan_segment& s, Place place, Checks* checks) {
  const int64_t rows = int64_t{s.row_end} - s.row_begin, live = s.num_live;
  const bool exact = (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
  if (!checks->in(place, "width", s.width, 0, exact ? rows : 0)) return false;
  if (s.width > 0) {
    return checks->is(place, "rows", rows, int64_t{s.width} * (s.req_end - s.req_begin)) &&
           checks->is(place, "num_live", live, s.req_end - s.req_begin) &&
           checks->is(place, "max_query_len", s.max_query_len, s.width) &&
           checks->is(place, "min_query_len", s.min_query_len, s.width);
  }
  return checks->in(place, "max_query_len", s.max_query_len, 1, exact ? rows : INT32_MAX) &&
         checks->in(place, "min_query_len", s.min_query_len, 1, s.max_query_len) &&
         checks->in(place, "rows", rows, live * s.min_query_len, live * s.max_query_len);
}

// Sums are of the host's values, which bounds of inexact query lengths need not agree with.
bool check_tokens(const attnplan_segment& s, Place place, Checks* checks) {
  const int64_t live = s.num_live;
  const bool exact = (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
  return checks->in(place, "max_seq_len", s.max_seq_len, 0, INT32_MAX) &&
         checks->in(place, "min_seq_len", s.min_seq_len, 0, s.max_seq_len) &&
         checks->in(place, "sum_seq_lens", s.sum_seq_lens, exact ? live * s.min_seq_len : 0,
                    live * (exact ? s.max_seq_len : INT32_MAX)) &&
         checks->in(place, "max_context_len", s.max_context_len, 0, INT32_MAX) &&
         checks->in(place, "min_context_len", s.min_context_len, 0, s.max_context_len) &&
         checks->in(place, "sum_context_lens", s.sum_context_lens, live * s.min_context_len,
                    live * s.max_context_len);
}

bool check_refusals(const Blob& blob, Checks* checks) {
  const int64_t kernels = blob.state != nullptr ? static_cast<int64_t>(blob.state->kernels.size())
                                                : int64_t{INT32_MAX} + 1;
  int64_t i = 0;
  for (const attnplan_refusal& refusal : blob.plan.refusals()) {
    const Place place = at(ATTNPLAN_SECTION_REFUSALS, i++);
    if (!checks->in(place, "kernel", refusal.kernel, 0, kernels - 1) ||
        !checks->in(place, "reasons", refusal.reasons, 1, (int64_t{1} << kNumReasons) - 1)) {
      return false;
    }
  }
  return true;
}

bool check_warnings(const Blob& blob, Checks* checks) {
  int64_t i = 0;
  for (const attnplan_warning& warning : blob.plan.warnings()) {
    const Place place = at(ATTNPLAN_SECTION_WARNINGS, i++);
    if (!checks->is(place, "code", warning.code, static_cast<int32_t>(Code::kSeqLenClamped)) ||
        !checks->in(place, "request", warning.request, 0, blob.requests - 1) ||
        !checks->in(place, "limit", warning.limit, 0, INT32_MAX) ||
        !checks->in(place, "value", warning.value, warning.limit, INT32_MAX)) {
      return false;
    }
  }
  return true;
}

bool check_order(const Blob& blob, Checks* checks) {
  const bool sorted = (blob.header.flags & ATTNPLAN_PLAN_SORTED) != 0;
  const auto order = blob.plan.order();
  const int64_t expected = sorted || blob.has(ATTNPLAN_SECTION_ORDER) ? blob.requests : 0;
  if (!checks->is(at(ATTNPLAN_SECTION_ORDER), "count", static_cast<int64_t>(order.size()),
                  expected)) {
    return false;
  }
  std::vector<bool> seen(order.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    const Place place = at(ATTNPLAN_SECTION_ORDER, static_cast<int64_t>(i));
    if (!checks->in(place, "request", order[i], 0, blob.requests - 1)) return false;
    if (seen[static_cast<size_t>(order[i])]) {
      return checks->wrong(place, "names a request for the second time", order[i]);
    }
    seen[static_cast<size_t>(order[i])] = true;
  }
  return true;
}

}  // namespace

bool check_header(const Blob& blob, Checks* checks) {
  const attnplan_plan_header& h = blob.header;
  constexpr uint32_t kFlags =
      ATTNPLAN_PLAN_SORTED | ATTNPLAN_PLAN_FIXED_LAYOUT | ATTNPLAN_PLAN_HAS_GRAPH;
  const bool later = h.minor > ATTNPLAN_PLAN_MINOR;  // whose flags this version does not know
  return checks->in(kHeader, "num_reqs", h.num_reqs, 0, INT32_MAX) &&
         checks->in(kHeader, "num_rows", h.num_rows, 0, INT32_MAX) &&
         checks->in(kHeader, "flags", h.flags, 0, later ? UINT32_MAX : kFlags) &&
         checks->in(kHeader, "ragged_policy", h.ragged_policy, 0,
                    static_cast<int32_t>(Ragged::kSplitRuns)) &&
         checks->in(kHeader, "decode_req_end", h.decode_req_end, 0, blob.requests) &&
         checks->in(kHeader, "decode_req_begin", h.decode_req_begin, 0, h.decode_req_end) &&
         checks->in(kHeader, "query_len_bound", h.query_len_bound, 0, INT32_MAX) &&
         checks->in(kHeader, "page_table_width", h.page_table_width, 0, INT32_MAX) &&
         check_model(blob, checks);
}

bool check_segments(const Blob& blob, Checks* checks) {
  Totals totals;
  attnplan_segment before{};
  int64_t i = 0, inexact = 0;
  for (const attnplan_segment& s : blob.segments) {
    const Place place = at(ATTNPLAN_SECTION_SEGMENTS, i++);
    if (!check_ranges(blob, s, before, place, checks) || !check_kernel(blob, s, place, checks) ||
        !check_query_lens(s, place, checks) || !check_tokens(s, place, checks)) {
      return false;
    }
    if ((s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) == 0 && ++inexact > 1) {
      return checks->wrong(place, "is the second one whose rows the device shares out",
                           s.row_begin);
    }
    totals.requests[s.route] += s.num_live;
    totals.rows[s.route] += s.row_end - s.row_begin;
    totals.max_query_len[s.route] =
        std::max<int64_t>(totals.max_query_len[s.route], s.max_query_len);
    before = s;
  }
  return checks->is(at(ATTNPLAN_SECTION_SEGMENTS), "last row_end", before.row_end, blob.rows) &&
         check_counts(blob, totals, checks) && check_graph(blob, checks) &&
         check_refusals(blob, checks) && check_warnings(blob, checks) && check_order(blob, checks);
}

}  // namespace attnplan
