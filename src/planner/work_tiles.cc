#include "planner/work_tiles.h"

#include <algorithm>

namespace attnplan {
namespace {

int32_t tile_rows_of(const Plan& plan, const Kernel& kernel) {
  const Config& config = plan.state->config;
  return std::max(kernel.query_tile / (config.num_q_heads / config.num_kv_heads), 1);
}

const Kernel& kernel_of(const Plan& plan, const attnplan_segment& segment) {
  return plan.state->kernels[static_cast<size_t>(segment.kernel)];
}

// Context length that the rows of a request have at least.
int64_t lowest_context(const Plan& plan, int32_t i) {
  if (!plan.context_inexact(i)) return plan.lanes->context_lens[i];
  return std::max<int64_t>(
      0, int64_t{plan.lanes->context_lens[i]} - (plan.state->config.decode_threshold - 1));
}

int32_t rows_of(const Plan& plan, int32_t i) {
  return plan.query_inexact(i) ? plan.lanes->query_bound : plan.lanes->query_lens[i];
}

WorkTile make_tile(const Plan& plan, int32_t request, int32_t row_begin, int32_t row_end,
                   int32_t kv_tile) {
  const Config& config = plan.state->config;
  const int64_t context = plan.lanes->context_lens[request];
  const int64_t lowest = plan.inexact == 0 ? context : lowest_context(plan, request);
  int64_t kv_end = plan.max_seq_len(request);
  int64_t all_see = INT32_MAX;
  if (config.mask == Mask::kCausal) {
    kv_end = std::min(kv_end, context + row_end);
    all_see = std::min<int64_t>(all_see, lowest + row_begin + 1);
  }
  int64_t kv_begin = 0, window_all = 0;
  if (config.sliding_window > 0) {
    kv_begin = std::max<int64_t>(0, lowest + row_begin - config.sliding_window + 1);
    kv_begin = std::min(kv_begin, kv_end) / kv_tile * kv_tile;
    window_all = std::max<int64_t>(0, context + row_end - config.sliding_window);
  }
  return {request,
          row_begin,
          row_end,
          static_cast<int32_t>(kv_begin),
          static_cast<int32_t>(kv_end),
          kv_tile,
          static_cast<int32_t>(all_see),
          static_cast<int32_t>(std::min<int64_t>(window_all, INT32_MAX))};
}

// context + query_len is the seq_len of every request, by what was checked or how it came about.
bool lengths_add_up(const Plan& plan) {
  const Step& step = *plan.step;
  return step.num_computed_tokens == nullptr || step.seq_lens == nullptr ||
         (step.query_lens_exact && step.seq_lens_exact && step.seq_len_exact == nullptr);
}

// Every request is a tile of all its KV: its lengths say everything.
bool is_plain(const Plan& plan, const attnplan_segment& segment, int32_t tile_rows) {
  const Config& config = plan.state->config;
  return plan.inexact == 0 && plan.lanes->cut == nullptr && config.sliding_window == 0 &&
         segment.num_live == segment.req_end - segment.req_begin &&
         segment.max_query_len <= tile_rows &&
         (config.mask != Mask::kCausal || lengths_add_up(plan));
}

void append_tiles(const Plan& plan, const attnplan_segment& segment, WorkList* list) {
  const Kernel& kernel = kernel_of(plan, segment);
  const int32_t tile_rows = tile_rows_of(plan, kernel);
  for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
    const int32_t rows = rows_of(plan, i);
    for (int32_t row = 0; row < rows; row += tile_rows) {
      list->tiles.push_back(
          make_tile(plan, i, row, std::min(row + tile_rows, rows), kernel.kv_tile));
      if (rows - row <= tile_rows) break;  // row + tile_rows could pass int32
    }
  }
}

}  // namespace

int64_t count_tiles(const Plan& plan) {
  int64_t count = 0;
  for (const attnplan_segment& segment : plan.parts->segments) {
    const int32_t tile_rows = tile_rows_of(plan, kernel_of(plan, segment));
    if (plan.num_query_inexact == 0 && segment.max_query_len <= tile_rows) {
      count += segment.num_live;
      continue;
    }
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      count += (int64_t{rows_of(plan, i)} + tile_rows - 1) / tile_rows;
    }
  }
  return count;
}

void make_tiles(const Plan& plan, bool all, WorkList* list) {
  list->tiles.clear();
  list->spans.clear();
  list->span_costs.clear();
  for (const attnplan_segment& segment : plan.parts->segments) {
    const Kernel& kernel = kernel_of(plan, segment);
    WorkSpan span{.kv_tile = kernel.kv_tile, .longest = segment.max_seq_len};
    const bool plain = is_plain(plan, segment, tile_rows_of(plan, kernel));
    const size_t first = list->tiles.size();
    if (all || !plain) append_tiles(plan, segment, list);
    int64_t cost = 0;
    if (plain) {
      span.count = segment.num_live;
      span.request = segment.req_begin;
      span.tokens = plan.lanes->seq_lens + segment.req_begin;
      span.rows = plan.lanes->query_lens + segment.req_begin;
      cost = segment.sum_seq_lens;
    } else {
      span.count = static_cast<int32_t>(list->tiles.size() - first);
      list->tokens.resize(std::max(list->tokens.size(), list->tiles.size()));
      for (size_t i = first; i < list->tiles.size(); ++i) {
        cost += list->tokens[i] = list->tiles[i].tokens();
      }
    }
    list->spans.push_back(span);
    list->span_costs.push_back(cost + int64_t{span.count} * kItemOverheadTokens);
  }
  // Only now do the arrays stay where they are.
  size_t first = 0;
  for (WorkSpan& span : list->spans) {
    const bool plain = span.rows != nullptr;
    if (!plain) {
      span.tokens = list->tokens.data() + first;
      span.tiles = list->tiles.data() + first;
    }
    if (all || !plain) first += static_cast<size_t>(span.count);
  }
}

}  // namespace attnplan
