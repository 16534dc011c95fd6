// Windows, local attention, context parallelism and launch scalars.
#include <algorithm>

#include "naive_sections_parts.h"

namespace attnplan::oracle {
namespace {

struct Fetch {
  int64_t start = 0, length = 0;
};

// What one extend request reads under a window of W tokens.
Fetch fetch_of(const SectionInputs& in, const NaiveRequest& request) {
  if (!request.live()) return {};
  int64_t context = in.context_in_table(request);
  // Every draft may have been rejected: the rows may start that much earlier.
  if (!request.exact_context) {
    const int64_t lowest = request.seq - (in.setup.decode_threshold - 1);
    context = std::max(request.query, lowest) - request.query;
  }
  const int64_t window = in.setup.sliding_window;
  const int64_t start = window == 0 ? 0 : std::max<int64_t>(0, context - window + 1);
  return {start, std::max<int64_t>(0, request.max_seq - start)};
}

// How many of the first tokens this rank holds: entry g counts tokens [0, g), dealt out one by one.
std::vector<int64_t> deal(const attnplan_config& config, int64_t tokens) {
  const int64_t world = std::max(config.context_parallel_world, 1);
  const int64_t interleave = std::max(config.context_parallel_interleave, 1);
  std::vector<int64_t> mine = {0};
  int64_t rank = 0, dealt = 0;
  for (int64_t token = 0; token < tokens; ++token) {
    mine.push_back(mine.back() + (rank == config.context_parallel_rank ? 1 : 0));
    if (++dealt < interleave) continue;
    dealt = 0;
    rank = (rank + 1) % world;
  }
  return mine;
}

int64_t visible(const SectionInputs& in, const NaiveRequest& request, int64_t row) {
  if (in.setup.mask == ATTNPLAN_MASK_FULL) return request.seq;
  return std::min(request.context + row + 1, request.seq);
}

}  // namespace

void add_window(const SectionInputs& in, SectionMap* out) {
  NaiveList window, start, cu_len;
  window.type = ATTNPLAN_TYPE_WINDOW;
  start.extent = cu_len.extent = ATTNPLAN_EXTENT_REQUESTS;
  cu_len.values.push_back(0);
  int64_t longest = 0;
  for (const NaiveSegment& segment : in.plan->segments) {
    if (segment.route != ATTNPLAN_ROUTE_EXTEND) continue;
    for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
      const NaiveRequest& request = in.requests[static_cast<size_t>(i)];
      const Fetch fetch = fetch_of(in, request);
      longest = std::max(longest, fetch.length);
      start.values.push_back(fetch.start);
      cu_len.values.push_back(cu_len.values.back() + fetch.length);
    }
  }
  window.values = {static_cast<int64_t>(start.values.size()), longest, cu_len.values.back()};
  for (NaiveList* list : {&window, &start, &cu_len}) {
    list->validity = in.all_exact() ? ATTNPLAN_VALIDITY_EXACT : ATTNPLAN_VALIDITY_BOUND;
  }
  (*out)[ATTNPLAN_SECTION_WINDOW] = window;
  (*out)[ATTNPLAN_SECTION_WINDOW_START] = start;
  (*out)[ATTNPLAN_SECTION_WINDOW_CU_LEN] = cu_len;
}

void add_local(const SectionInputs& in, SectionMap* out) {
  const int64_t chunk = in.config->local_attention_chunk;
  const int64_t block_size = in.setup.cache ? in.setup.cache->given.block_size : 1;
  NaiveList list;
  list.type = ATTNPLAN_TYPE_LOCAL_BATCH;
  if (!in.all_exact()) list.validity = ATTNPLAN_VALIDITY_DEVICE;
  for (size_t i = 0; i < in.requests.size(); ++i) {
    const NaiveRequest& request = in.requests[i];
    int64_t piece = -1;  // chunk of the last row seen; rows at a clamp or behind are of none
    bool any = false;
    for (int64_t row = 0; row < request.query; ++row) {
      const int64_t position = in.context_in_table(request) + row;
      const bool keys = !request.clamp || position < *request.clamp;
      const int64_t of_row = keys ? position / chunk : -1;
      if (!any || of_row != piece) {
        for (int64_t value : {int64_t{0}, int64_t{0}, static_cast<int64_t>(i),
                              keys ? of_row * chunk / block_size : 0}) {
          list.values.push_back(value);
        }
      }
      any = true;
      piece = of_row;
      int64_t* batch = &list.values[list.values.size() - 4];
      ++batch[0];
      if (keys) batch[1] = position % chunk + 1;  // the last row of the piece sees all of its keys
    }
  }
  (*out)[ATTNPLAN_SECTION_LOCAL] = list;
}

void add_context_parallel(const SectionInputs& in, SectionMap* out) {
  NaiveList list;
  list.extent = ATTNPLAN_EXTENT_ROWS;
  if (!in.all_exact()) list.validity = ATTNPLAN_VALIDITY_DEVICE;
  int64_t most = 0;
  for (const NaiveRequest& request : in.requests) most = std::max(most, request.seq);
  const std::vector<int64_t> mine = deal(*in.config, most);
  for (size_t i = 0; i < in.requests.size(); ++i) {
    const NaiveRequest& request = in.requests[i];
    for (int64_t row = 0; row < request.query; ++row) {
      const bool unknown = in.rows_unknown(i) || !request.exact_seq;
      list.values.push_back(unknown ? kOnlyTheDeviceKnows
                                    : mine[static_cast<size_t>(visible(in, request, row))]);
    }
  }
  (*out)[ATTNPLAN_SECTION_CONTEXT_PARALLEL] = list;
}

// Of a step that runs in no full graph: there the graph says more than the batch.
void add_launch(const SectionInputs& in, SectionMap* out) {
  NaiveList list;
  list.type = ATTNPLAN_TYPE_LAUNCH;
  const int64_t group = in.setup.num_q_heads / in.setup.num_kv_heads;
  for (size_t s = 0; s < in.plan->segments.size(); ++s) {
    const NaiveSegment& segment = in.plan->segments[s];
    const attnplan_contract unknown = ATTNPLAN_CONTRACT_INIT;
    const bool built_in = in.config->contracts == nullptr;
    const attnplan_contract& kernel = built_in ? unknown : *in.config->contracts[segment.kernel];
    const int64_t tile = kernel.query_tile > 0 ? kernel.query_tile : 64;
    int64_t tiles = 0;
    for (int64_t i = segment.req_begin; i < segment.req_end; ++i) {
      const NaiveRequest& request = in.requests[static_cast<size_t>(i)];
      tiles += ceil_div(request.max_query * group, tile);
    }
    const int64_t rows = segment.row_end - segment.row_begin;
    const int64_t scratch =
        kernel.num_splits * rows * in.setup.num_q_heads * (in.setup.v_head_size + 1) * 4;
    list.values.push_back(static_cast<int64_t>(s));
    list.values.push_back(built_in ? kAnything : tiles);
    list.values.push_back(built_in ? kAnything : kernel.num_splits);
    list.values.push_back(segment.max_seq_len);
    list.values.push_back(segment.req_end - segment.req_begin);
    list.values.push_back(rows);
    list.values.push_back(built_in ? kAnything : scratch);
  }
  if (!in.all_exact()) list.validity = ATTNPLAN_VALIDITY_BOUND;
  (*out)[ATTNPLAN_SECTION_LAUNCH] = list;
}

}  // namespace attnplan::oracle
