// Scalars for the launch of each segment's kernel.
#include <algorithm>
#include <cstring>

#include "planner/sections.h"

namespace attnplan {
namespace {

int64_t tiles_of(int64_t rows, int64_t group, int64_t tile) {
  return (rows * group + tile - 1) / tile;
}

int32_t clamp_count(int64_t count) {
  return static_cast<int32_t>(std::min<int64_t>(count, INT32_MAX));
}

// Tiles of packed rows (rows x group) that the live requests of a segment make, per KV head.
int64_t query_tiles(const Plan& plan, const attnplan_segment& segment, int64_t tile) {
  const Config& config = plan.state->config;
  const int64_t group = config.num_q_heads / config.num_kv_heads;
  if (segment.width > 0) {
    return segment.num_live * tiles_of(segment.width, group, tile);
  }
  int64_t tiles = 0;
  for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
    const int64_t rows =
        plan.query_inexact(i) ? plan.lanes->query_bound : plan.lanes->query_lens[i];
    tiles += tiles_of(rows, group, tile);
  }
  return tiles;
}

// Grids and strides of a captured launch come from the configuration, never from the batch: the
// same key of a graph gives the same extents.
void apply_full_graph(const Plan& plan, int64_t tile, attnplan_launch* launch) {
  const Config& config = plan.state->config;
  const Graph& graph = plan.graph;
  const int64_t group = config.num_q_heads / config.num_kv_heads;
  if (config.limits.max_model_len > 0) launch->max_seq_len = config.limits.max_model_len;
  launch->rows = graph.rows;
  if (graph.width > 0) {
    launch->requests = graph.requests;
    launch->query_tiles = clamp_count(product(graph.requests, tiles_of(graph.width, group, tile)));
    return;
  }
  const int32_t most = config.limits.max_num_seqs > 0 ? config.limits.max_num_seqs : graph.rows;
  launch->requests = std::max(launch->requests, most);
  // However the rows are dealt out to so many requests: each may leave a tile unfilled.
  const int64_t live = std::min(launch->requests, graph.rows);
  launch->query_tiles = clamp_count((graph.rows * group + live * (tile - 1)) / tile);
}

attnplan_launch launch_of(const Plan& plan, int32_t index) {
  const Config& config = plan.state->config;
  const attnplan_segment& s = plan.parts->segments[static_cast<size_t>(index)];
  const Kernel& kernel = plan.state->kernels[static_cast<size_t>(s.kernel)];
  attnplan_launch launch{};
  launch.segment = index;
  launch.num_splits = kernel.num_splits;
  launch.max_seq_len = s.max_seq_len;
  launch.requests = s.req_end - s.req_begin;
  launch.rows = s.row_end - s.row_begin;
  if (plan.graph.kind == GraphKind::kFull) {
    apply_full_graph(plan, kernel.query_tile, &launch);
  } else {
    launch.query_tiles = clamp_count(query_tiles(plan, s, kernel.query_tile));
  }
  // Each split keeps a float32 output row and its log-sum-exp per query head.
  const int64_t row_bytes = (int64_t{config.v_head_size} + 1) * static_cast<int64_t>(sizeof(float));
  launch.scratch_bytes =
      product(product(int64_t{kernel.num_splits} * launch.rows, row_bytes), config.num_q_heads);
  return launch;
}

}  // namespace

void describe_launch(const Plan* plan, const Planner::State& state, SectionList* list) {
  if ((state.config.sections >> ATTNPLAN_SECTION_LAUNCH & 1) == 0) return;
  list->add_records<attnplan_launch>(ATTNPLAN_SECTION_LAUNCH, ATTNPLAN_TYPE_LAUNCH,
                                     plan ? static_cast<int64_t>(plan->parts->segments.size()) : 0,
                                     state.capacity.segments);
  if (plan && (plan->inexact & (kQueryInexact | kSeqInexact)) != 0) {
    list->last().validity = ATTNPLAN_VALIDITY_BOUND;
  }
}

void write_launch(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  for (int32_t i = 0; i < spec.count; ++i) {
    const attnplan_launch launch = launch_of(plan, i);
    std::memcpy(out + static_cast<size_t>(i) * sizeof launch, &launch, sizeof launch);
  }
}

}  // namespace attnplan
