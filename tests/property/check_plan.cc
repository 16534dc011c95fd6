// Every row in exactly one segment, figures as counted, the permutation a stable one.
#include <algorithm>

#include "facts.h"

namespace attnplan::property {
namespace {

using oracle::Batch;

std::string in_segment(size_t index, const char* what) {
  return "segment " + std::to_string(index) + ": " + what;
}

template <typename T>
bool equal_at(const std::optional<std::vector<T>>& values, size_t a, size_t b) {
  return !values || (*values)[a] == (*values)[b];
}

// Nothing that a sort could look at tells these two requests apart.
bool alike(const Batch& batch, const Facts& facts, size_t a, size_t b) {
  return facts.query[a] == facts.query[b] && facts.context[a] == facts.context[b] &&
         equal_at(batch.num_prompt_tokens, a, b) && equal_at(batch.num_known_tokens, a, b) &&
         equal_at(batch.is_prefilling, a, b);
}

struct Extremes {
  int64_t low = INT64_MAX, high = INT64_MIN, sum = 0;

  void add(int64_t value) {
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
};

struct Recount {
  Extremes query, seq, context;
  int64_t live = 0;
  bool interior_pad = false;
};

Recount recount(const Facts& facts, const attnplan_segment& segment) {
  Recount out;
  for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (facts.query[at] == 0) {
      out.interior_pad = true;
      continue;
    }
    ++out.live;
    out.query.add(facts.query[at]);
    out.seq.add(facts.seq[at]);
    out.context.add(facts.context[at]);
  }
  return out;
}

std::string check_query_figures(const Recount& counted, const attnplan_segment& segment,
                                int32_t bound) {
  if ((segment.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) == 0) {
    if (segment.width != 0) return "inexact rows and yet a width";
    if (segment.min_query_len != 1) return "inexact rows may be one only";
    if (segment.max_query_len < bound) return "max_query_len below the bound";
    return "";
  }
  const bool uniform = counted.query.low == counted.query.high && !counted.interior_pad;
  if (segment.width != (uniform ? counted.query.low : 0)) return "width is not the measured one";
  if (segment.max_query_len != counted.query.high) return "max_query_len is not measured";
  if (segment.min_query_len != counted.query.low) return "min_query_len is not measured";
  if (segment.max_seq_len != counted.seq.high) return "max_seq_len is not measured";
  if (segment.min_seq_len != counted.seq.low) return "min_seq_len is not measured";
  return "";
}

std::string check_segment_figures(const Recount& counted, const attnplan_segment& segment,
                                  int32_t bound) {
  if (segment.num_live != counted.live) return "num_live";
  if (segment.sum_seq_lens != counted.seq.sum) return "sum_seq_lens";
  if (segment.max_context_len != counted.context.high) return "max_context_len";
  if (segment.min_context_len != counted.context.low) return "min_context_len";
  if (segment.sum_context_lens != counted.context.sum) return "sum_context_lens";
  return check_query_figures(counted, segment, bound);
}

}  // namespace

std::string check_order(const Batch& batch, const Buffer& plan) {
  const auto order = int32_section(plan, ATTNPLAN_SECTION_ORDER);
  if (batch.config.order != ATTNPLAN_ORDER_SORT) {
    return order.empty() ? "" : "an order that nobody asked for";
  }
  const size_t n = static_cast<size_t>(batch.num_reqs());
  if (order.size() != n) return "order has not one entry a request";
  std::vector<bool> seen(n);
  for (int32_t input : order) {
    const size_t i = static_cast<size_t>(input);
    if (i >= n || seen[i]) return "order is no permutation";
    seen[i] = true;
  }
  const Facts facts = facts_of(batch, {});
  for (size_t p = 1; p < n; ++p) {
    const size_t a = static_cast<size_t>(order[p - 1]), b = static_cast<size_t>(order[p]);
    if (facts.query[a] == 0 && facts.query[b] > 0) return "a pad is not at the end";
    if (a > b && alike(batch, facts, a, b)) return "the sort is not stable";
  }
  return "";
}

std::string check_shape(const Facts& facts, const Buffer& plan) {
  int32_t request = 0, row = 0;
  const auto segments = segments_of(plan);
  for (size_t s = 0; s < segments.size(); ++s) {
    const attnplan_segment& segment = segments[s];
    if (segment.req_begin < request || segment.req_end <= segment.req_begin ||
        segment.req_end > static_cast<int32_t>(facts.count())) {
      return in_segment(s, "requests empty, unordered or beyond the batch");
    }
    for (; request < segment.req_begin; ++request) {
      if (facts.query[static_cast<size_t>(request)] != 0) return in_segment(s, "skips a request");
    }
    if (facts.query[static_cast<size_t>(segment.req_begin)] == 0 ||
        facts.query[static_cast<size_t>(segment.req_end - 1)] == 0) {
      return in_segment(s, "starts or ends on a pad");
    }
    int64_t rows = 0;
    for (; request < segment.req_end; ++request) rows += facts.query[static_cast<size_t>(request)];
    if (segment.row_begin != row || segment.row_end - segment.row_begin != rows) {
      return in_segment(s, "rows do not continue those before");
    }
    row = segment.row_end;
  }
  for (size_t i = static_cast<size_t>(request); i < facts.count(); ++i) {
    if (facts.query[i] != 0) return "a request behind the last segment";
  }
  return row == facts.rows ? "" : "rows are lost";
}

std::string check_figures(const Facts& facts, const Buffer& plan) {
  const auto segments = segments_of(plan);
  const int32_t bound = header_of(plan).query_len_bound;
  int shared_out = 0;  // by the device: between two such segments no border would be certain
  for (size_t s = 0; s < segments.size(); ++s) {
    const std::string broken =
        check_segment_figures(recount(facts, segments[s]), segments[s], bound);
    if (!broken.empty()) return in_segment(s, broken.c_str());
    shared_out += (segments[s].flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) == 0;
    if (shared_out > 1) return in_segment(s, "a second one whose rows the host does not know");
  }
  return "";
}

std::string check_routes(const Facts& facts, const attnplan_step& step, const Buffer& plan) {
  std::vector<int32_t> routes(facts.count());
  if (attnplan_plan_get_routes(plan.data(), plan.size(), &step, routes.data(), nullptr) !=
      ATTNPLAN_OK) {
    return "routes cannot be read";
  }
  std::vector<int32_t> expected(facts.count(), ATTNPLAN_ROUTE_PAD);
  int64_t requests[4] = {}, rows[4] = {};
  for (const attnplan_segment& segment : segments_of(plan)) {
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      const size_t at = static_cast<size_t>(i);
      if (facts.query[at] == 0) continue;
      expected[static_cast<size_t>(facts.input[at])] = segment.route;
      ++requests[segment.route];
      rows[segment.route] += facts.query[at];
    }
  }
  if (routes != expected) return "routes are not those of the segments";
  const attnplan_plan_header& header = header_of(plan);
  if (header.num_decodes != requests[ATTNPLAN_ROUTE_DECODE] ||
      header.num_extends != requests[ATTNPLAN_ROUTE_EXTEND] ||
      header.num_prefills != requests[ATTNPLAN_ROUTE_PREFILL] ||
      header.num_pads + requests[1] + requests[2] + requests[3] !=
          static_cast<int64_t>(facts.count())) {
    return "requests per route";
  }
  if (header.num_decode_tokens != rows[ATTNPLAN_ROUTE_DECODE] ||
      header.num_extend_tokens != rows[ATTNPLAN_ROUTE_EXTEND] ||
      header.num_prefill_tokens != rows[ATTNPLAN_ROUTE_PREFILL]) {
    return "rows per route";
  }
  return "";
}

}  // namespace attnplan::property
