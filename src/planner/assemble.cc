#include "planner/assemble.h"

#include <algorithm>
#include <iterator>

#include "kv/block_table.h"
#include "planner/scratch.h"

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

// Extents with the pads that the graph adds, and what those pads look like.
void apply_graph(const Planner::State& state, const Step& step, Plan* plan) {
  const auto& segments = plan->parts->segments;
  plan->first_graph_pad = segments.empty() ? 0 : segments.back().req_end;
  plan->padded_requests = plan->lanes->n;
  plan->padded_rows = static_cast<int32_t>(plan->lanes->rows);
  if (!state.config.graph.enabled) return;
  plan->graph =
      choose_graph(state.config, step, *plan->lanes, state.kernels, plan->parts->routing.segments);
  const Graph& graph = plan->graph;
  plan->padded_rows = graph.rows;
  if (graph.width > 0) {
    const int32_t begin = segments.empty() ? 0 : segments.front().req_begin;
    plan->padded_requests = std::max(plan->padded_requests, begin + graph.requests);
    const bool full_width =
        std::any_of(state.kernels.begin(), state.kernels.end(), [&](const Kernel& kernel) {
          const bool runs =
              segments.empty()
                  ? kernel.route == Route::kDecode
                  : &kernel == &state.kernels[static_cast<size_t>(segments.front().kernel)];
          return runs && kernel.pads == Pads::kFullWidth;
        });
    plan->pad_width = full_width ? graph.width : 0;
  }
  attnplan_plan_header& h = plan->header;
  h.flags |= ATTNPLAN_PLAN_HAS_GRAPH;
  h.graph_kind = static_cast<int32_t>(graph.kind);
  h.graph_rows = graph.rows;
  h.graph_requests = graph.requests;
  h.graph_pad_rows = graph.pad_rows;
  h.graph_pad_requests = graph.pad_requests;
  h.graph_width = graph.width;
}

int32_t page_table_width(const Planner::State& state, const Step& step, const Group& group) {
  if ((state.config.sections >> ATTNPLAN_SECTION_PAGE_TABLE & 1) == 0) return 0;
  const int64_t width = state.fixed_layout
                            ? state.capacity.table_width
                            : widest_row(group, step.num_reqs) * state.view->pages_per_block;
  return static_cast<int32_t>(std::min<int64_t>(width, INT32_MAX));
}

void note_inexactness(Plan* plan) {
  const Lanes& lanes = *plan->lanes;
  if (lanes.inexact == nullptr) return;
  for (int32_t i = 0; i < lanes.n; ++i) {
    plan->inexact |= lanes.inexact[i];
    if ((lanes.inexact[i] & kQueryInexact) == 0) continue;
    if (plan->num_query_inexact++ == 0) plan->moving_begin = i;
    plan->moving_end = i + 1;
  }
}

void fill_segments(const Planner::State& state, const RoutingInput& routing,
                   Scratch::Buffers& buffers, attnplan_plan_header* h) {
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
    count(s, h);
    buffers.segments.push_back(s);
  }
}

}  // namespace

void assemble(const Planner::State& state, const Step& step, const Group& group,
              const StepScan& scan, const RoutingInput& routing, const Resolution& resolution,
              Scratch::Buffers& buffers, Plan* plan) {
  const Lanes& lanes = scan.lanes;
  plan->state = &state;
  plan->step = &step;
  plan->group = &group;
  plan->lanes = &lanes;
  plan->parts = &buffers;
  note_inexactness(plan);
  attnplan_plan_header& h = plan->header;
  fill_segments(state, routing, buffers, &h);
  h.magic = ATTNPLAN_PLAN_MAGIC;
  h.major = ATTNPLAN_PLAN_MAJOR;
  h.minor = ATTNPLAN_PLAN_MINOR;
  h.header_bytes = sizeof h;
  if (lanes.order != nullptr) h.flags |= ATTNPLAN_PLAN_SORTED;
  if (state.fixed_layout) h.flags |= ATTNPLAN_PLAN_FIXED_LAYOUT;
  h.step_hash = scan.hash;
  h.planner_hash = state.hash;
  h.num_segments = static_cast<int32_t>(buffers.segments.size());
  h.num_reqs = lanes.n;
  h.num_rows = static_cast<int32_t>(lanes.rows);
  h.num_pads = lanes.n - h.num_decodes - h.num_extends - h.num_prefills;
  h.ragged_policy = static_cast<int32_t>(resolution.policy);
  h.decode_req_begin = routing.parts.decode.begin;
  h.decode_req_end = routing.parts.decode.end;
  h.query_len_bound = lanes.query_bound;
  std::copy(std::begin(resolution.costs), std::end(resolution.costs), h.policy_costs);
  h.page_table_width = page_table_width(state, step, group);
  apply_graph(state, step, plan);
}

}  // namespace attnplan
