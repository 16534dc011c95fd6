#include "planner/capacity.h"

#include <algorithm>

#include "attnplan_plan_format.h"
#include "planner/graph.h"
#include "planner/schedule.h"

namespace attnplan {
namespace {

bool asked(const Config& config, int32_t section) { return (config.sections >> section & 1) != 0; }

bool follows_lengths(const Config& config) {
  return asked(config, ATTNPLAN_SECTION_PAGE_TABLE) ||
         asked(config, ATTNPLAN_SECTION_PAGE_INDICES) || asked(config, ATTNPLAN_SECTION_CHUNKS) ||
         asked(config, ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST) || config.work == Work::kFixed;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Chunks of the extend segments of a step. The shortest chunk is that of a full batch.
void bound_chunks(const Config& config, const std::pmr::vector<Kernel>& kernels, Capacity* c) {
  int64_t page = 1;
  for (const Kernel& kernel : kernels) {
    if (kernel.route == Route::kExtend) page = std::max<int64_t>(page, kernel.page_size);
  }
  const int64_t requests = std::max<int64_t>(c->requests, 1);
  // The smallest page there can be gives the smallest chunk; 1 where kernels differ.
  const int64_t share = config.chunk_workspace_tokens / requests;
  const int64_t shortest = std::max<int64_t>(share >= page ? share / page * page : 1, 1);
  const int64_t per_segment = ceil_div(config.limits.max_model_len, shortest);
  c->chunks = product(per_segment, std::min<int64_t>(c->segments, requests));
  c->chunk_tokens = std::min(product(c->chunks, config.chunk_workspace_tokens),
                             product(requests, config.limits.max_model_len));
}

// Output tiles of all requests over all KV heads.
int64_t tiles_of(const Config& config, const std::pmr::vector<Kernel>& kernels, const Capacity& c) {
  const int32_t group = config.num_q_heads / config.num_kv_heads;
  int32_t rows = INT32_MAX;
  for (const Kernel& kernel : kernels)
    rows = std::min(rows, std::max(kernel.query_tile / group, 1));
  // Where verify rows are split on the device each request may bring as many as the threshold.
  const int64_t verify = c.requests * ceil_div(config.decode_threshold, rows);
  return (c.rows / rows + c.requests + verify) * config.num_kv_heads;
}

}  // namespace

const char* missing_limit(const Config& config) {
  if (config.limits.max_num_seqs == 0) return "max_num_seqs";
  if (config.limits.max_num_batched_tokens == 0) return "max_num_batched_tokens";
  if (follows_lengths(config) && config.limits.max_model_len == 0) return "max_model_len";
  return nullptr;
}

Capacity capacity_of(const Config& config, const KvView* view,
                     const std::pmr::vector<Kernel>& kernels) {
  Capacity c;
  c.requests = std::max(config.limits.max_num_seqs, max_graph_requests(config));
  c.rows = std::max(config.limits.max_num_batched_tokens, max_graph_rows(config));
  // Runs, what lies between them, E and P.
  c.segments = std::min<int64_t>(2 * int64_t{config.max_segments} + 3, c.requests);
  c.refusals = c.segments * static_cast<int64_t>(kernels.size());
  if (view != nullptr) {
    c.warnings = c.requests;
    c.table_width = product(ceil_div(config.limits.max_model_len, config.kv_cache->block_size),
                            view->pages_per_block);
  }
  bound_chunks(config, kernels, &c);
  if (config.local_attention_chunk > 0) {
    // A request's rows begin and end inside a chunk; where a table may clamp a draft step, its rows
    // without keys are one more piece.
    const int64_t pieces = view != nullptr ? 3 : 2;
    c.local_batches =
        std::min(pieces * c.requests + ceil_div(c.rows, config.local_attention_chunk), c.rows);
  }
  if (config.work != Work::kNone) {
    const WorkBounds work =
        work_bounds(config, tiles_of(config, kernels, c), config.limits.max_model_len);
    c.work_items = work.items;
    c.merge_tiles = work.merge_tiles;
    c.merge_slots = work.merge_slots;
  }
  return c;
}

}  // namespace attnplan
