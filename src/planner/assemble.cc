#include "planner/assemble.h"

#include <algorithm>
#include <iterator>

#include "kv/block_table.h"
#include "planner/scratch.h"

namespace attnplan {
namespace {

void fill_record(const RoutedSegment& routed, const Kernel& kernel, attnplan_segment* record) {
  const Facts& facts = routed.facts;
  attnplan_segment& s = *record;
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
    plan->graph_end = begin + graph.requests;
    plan->padded_requests = std::max(plan->padded_requests, plan->graph_end);
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
}

int32_t page_table_width(const Planner::State& state, const Step& step, const Group& group) {
  if ((state.config.sections >> ATTNPLAN_SECTION_PAGE_TABLE & 1) == 0) return 0;
  const int64_t pages = state.view->pages_per_block;
  const int64_t width =
      state.fixed_layout ? state.capacity.table_width : widest_row(group, step.num_reqs) * pages;
  return static_cast<int32_t>(std::min(width, INT32_MAX / pages * pages));
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
                   Scratch::Buffers& buffers) {
  buffers.segments.clear();
  buffers.refusals.clear();
  int32_t row = 0, list_begin = 0;
  for (const RoutedSegment& routed : buffers.routing.segments) {
    attnplan_segment& s = buffers.segments.emplace_back();
    fill_record(routed, state.kernels[static_cast<size_t>(routed.kernel)], &s);
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
  fill_segments(state, routing, buffers);
  plan->step_hash = scan.hash;
  plan->decode = routing.parts.decode;
  plan->resolution = resolution;
  plan->page_table_width = page_table_width(state, step, group);
  apply_graph(state, step, plan);
}

}  // namespace attnplan
