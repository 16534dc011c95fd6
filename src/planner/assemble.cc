#include "planner/assemble.h"

#include <algorithm>

#include "planner/hash.h"
#include "planner/resolve.h"

namespace attnplan {
namespace {

attnplan_segment make_record(const RoutedSegment& routed, const Kernel& kernel) {
  const Facts& facts = routed.facts;
  attnplan_segment s{};
  s.route = static_cast<int32_t>(kernel.route);
  s.kernel = routed.kernel;
  s.req_begin = routed.range.begin;
  s.req_end = routed.range.end;
  s.width = facts.width();
  s.max_query_len = facts.max_query_len;
  s.min_query_len = facts.min_query_len;
  s.max_seq_len = facts.max_seq_len;
  s.min_seq_len = facts.min_seq_len;
  s.max_context_len = facts.max_context_len;
  s.min_context_len = facts.min_context_len;
  s.num_live = facts.num_live;
  s.page_size = kernel.page_size;
  s.label = static_cast<int32_t>(kernel.label);
  if (!facts.query_inexact) s.flags |= ATTNPLAN_SEGMENT_EXACT_QUERY_LENS;
  if (!facts.seq_inexact) s.flags |= ATTNPLAN_SEGMENT_EXACT_SEQ_LENS;
  s.sum_seq_lens = facts.sum_seq_lens;
  s.sum_context_lens = facts.sum_context_lens;
  return s;
}

// Counts per route, and the maxima that engines ask for per route.
void count(const attnplan_segment& s, attnplan_plan_header* h) {
  const int32_t rows = s.row_end - s.row_begin;
  struct Totals {
    int32_t* requests;
    int32_t* rows;
    int32_t* max_query_len;
  };
  const Totals totals =
      s.route == static_cast<int32_t>(Route::kDecode)
          ? Totals{&h->num_decodes, &h->num_decode_tokens, &h->max_decode_query_len}
      : s.route == static_cast<int32_t>(Route::kExtend)
          ? Totals{&h->num_extends, &h->num_extend_tokens, &h->max_extend_query_len}
          : Totals{&h->num_prefills, &h->num_prefill_tokens, &h->max_prefill_query_len};
  *totals.requests += s.num_live;
  *totals.rows += rows;
  *totals.max_query_len = std::max(*totals.max_query_len, s.max_query_len);
}

}  // namespace

Plan assemble(const Planner::State& state, const Step& step, const RoutingInput& routing,
              Ragged policy, Scratch::Buffers& buffers) {
  const Lanes& lanes = *routing.lanes;
  Plan plan;
  plan.lanes = &lanes;
  plan.parts = &buffers;
  plan.sections = state.config.sections;
  attnplan_plan_header& h = plan.header;
  buffers.segments.clear();
  buffers.refusals.clear();
  int32_t row = 0, list_begin = 0;
  for (const RoutedSegment& routed : buffers.routing.segments) {
    attnplan_segment s = make_record(routed, state.kernels[static_cast<size_t>(routed.kernel)]);
    s.row_begin = row;
    s.row_end = row += static_cast<int32_t>(routed.facts.rows);
    s.query_start_loc_begin = list_begin;
    list_begin += s.req_end - s.req_begin + 1;
    s.refusal_begin = static_cast<int32_t>(buffers.refusals.size());
    if (!buffers.routing.trials.empty()) {
      append_refusals(routing, routed, buffers.routing, &buffers.reasons_by_kernel,
                      &buffers.refusals);
    }
    s.refusal_end = static_cast<int32_t>(buffers.refusals.size());
    count(s, &h);
    buffers.segments.push_back(s);
  }
  h.magic = ATTNPLAN_PLAN_MAGIC;
  h.major = ATTNPLAN_PLAN_MAJOR;
  h.minor = ATTNPLAN_PLAN_MINOR;
  h.header_bytes = sizeof h;
  h.flags = lanes.order != nullptr ? ATTNPLAN_PLAN_SORTED : 0;
  h.step_hash = hash_step(step, *state.isa);
  h.planner_hash = state.hash;
  h.num_segments = static_cast<int32_t>(buffers.segments.size());
  h.num_reqs = lanes.n;
  h.num_rows = static_cast<int32_t>(lanes.rows);
  h.num_pads = lanes.n - h.num_decodes - h.num_extends - h.num_prefills;
  h.ragged_policy = static_cast<int32_t>(policy);
  h.decode_req_begin = routing.parts.decode.begin;
  h.decode_req_end = routing.parts.decode.end;
  h.query_len_bound = lanes.query_bound;
  return plan;
}

}  // namespace attnplan
