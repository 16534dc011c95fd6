// Figures of segments, and the lists whose shape the host chose: chunks, windows, pieces of local
// attention, work.
#include "cpu/refresh_parts.h"

namespace attnplan::cpu {
namespace {

int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }
int32_t index_of(int64_t value) { return narrow(std::min<int64_t>(value, INT32_MAX)); }

std::span<const RefreshRequest> requests_of(const RefreshPlan& plan, const attnplan_segment& s) {
  return std::span(plan.requests)
      .subspan(static_cast<size_t>(s.req_begin), static_cast<size_t>(s.req_end - s.req_begin));
}

void measure(std::span<const RefreshRequest> requests, attnplan_segment* s) {
  s->max_query_len = s->max_seq_len = s->max_context_len = 0;
  s->min_query_len = s->min_seq_len = s->min_context_len = INT32_MAX;
  s->sum_seq_lens = s->sum_context_lens = 0;
  bool any = false;
  for (const RefreshRequest& request : requests) {
    if (!request.live()) continue;
    any = true;
    s->max_query_len = std::max(s->max_query_len, narrow(request.rows));
    s->min_query_len = std::min(s->min_query_len, narrow(request.rows));
    s->max_seq_len = std::max(s->max_seq_len, narrow(request.tokens));
    s->min_seq_len = std::min(s->min_seq_len, narrow(request.tokens));
    s->max_context_len = std::max(s->max_context_len, narrow(request.context));
    s->min_context_len = std::min(s->min_context_len, narrow(request.context));
    s->sum_seq_lens += request.tokens;
    s->sum_context_lens += request.context;
  }
  if (!any) s->min_query_len = s->min_seq_len = s->min_context_len = 0;
}

// Writes chunk k of a set; returns its tokens.
int64_t write_chunk(RefreshPlan* plan, const attnplan_chunk_set& set, int64_t k, int64_t tokens) {
  constexpr int32_t kChunks = ATTNPLAN_SECTION_CHUNKS;
  const auto list = plan->room<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST, kChunks);
  const auto ends = plan->room<int32_t>(ATTNPLAN_SECTION_CHUNK_CU_LENS, kChunks);
  const auto map = plan->room<int32_t>(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, kChunks);
  const attnplan_segment& s = plan->segments[static_cast<size_t>(set.segment)];
  attnplan_chunk& chunk = list[static_cast<size_t>(set.chunk_begin + k)];
  int64_t total = 0, longest = 0, at = chunk.cu_lens_begin;
  RefreshPlan::put(ends, at++, 0);
  for (int64_t p = s.req_begin; p < s.req_end; ++p) {
    const RefreshRequest& request = plan->requests[static_cast<size_t>(p)];
    const int64_t begin = k * set.chunk_tokens, end = begin + set.chunk_tokens;
    const int64_t len = std::max<int64_t>(std::min(request.context_in_cache(), end) - begin, 0);
    for (int64_t i = 0; i < len && total + i < INT32_MAX; ++i) {
      if (tokens + total + i >= static_cast<int64_t>(map.size())) break;
      RefreshPlan::put(map, tokens + total + i, narrow(p));
    }
    total += len;
    longest = std::max(longest, len);
    RefreshPlan::put(ends, at++, index_of(total));
  }
  chunk.total = index_of(total);
  chunk.max_len = narrow(longest);
  chunk.token_begin = index_of(tokens);
  return total;
}

struct Piece {
  int64_t rows, tokens, first_token;
};

// The rows of a request, cut where chunks of local attention begin and where a cut left none of the
// keys.
std::vector<Piece> pieces_of(const RefreshRequest& request, int64_t chunk) {
  std::vector<Piece> pieces;
  int64_t position = request.context_in_cache();
  const int64_t end = position + request.rows;
  const int64_t with_keys = request.cut ? std::clamp(request.tokens, position, end) : end;
  while (position < with_keys) {
    const int64_t begin = position / chunk * chunk;
    const int64_t stop = std::min(begin + chunk, with_keys);
    pieces.push_back({stop - position, stop - begin, begin});
    position = stop;
  }
  if (position < end) pieces.push_back({end - position, 0, 0});
  return pieces;
}

void refresh_local(RefreshPlan* plan) {
  const auto out = plan->room<attnplan_local_batch>(ATTNPLAN_SECTION_LOCAL);
  if (out.empty() || plan->rules.local_chunk == 0) return;
  const int64_t block_size = std::max<int64_t>(plan->rules.block_size, 1);
  int64_t count = 0;
  for (size_t p = 0; p < plan->requests.size(); ++p) {
    for (const Piece& piece : pieces_of(plan->requests[p], plan->rules.local_chunk)) {
      RefreshPlan::put(out, count++,
                       {narrow(piece.rows), narrow(piece.tokens), static_cast<int32_t>(p),
                        narrow(piece.first_token / block_size)});
    }
  }
  plan->set_count(ATTNPLAN_SECTION_LOCAL, count);
}

// Rows that the device splits.
bool rows_move(const RefreshPlan& plan, int64_t position) {
  for (const attnplan_segment& s : plan.segments) {
    if (s.req_begin <= position && position < s.req_end) {
      return (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) == 0;
    }
  }
  return false;
}

class WorkTiles {
 public:
  WorkTiles(const RefreshPlan& plan, const attnplan_work& work) : plan_(plan) {
    const int64_t query_tile = plan.rules.query_tile > 0 ? plan.rules.query_tile : work.query_tile;
    if (query_tile > 0) rows_ = std::max<int64_t>(query_tile / plan.rules.group, 1);
    kv_tile_ = plan.rules.kv_tile > 0 ? plan.rules.kv_tile : work.kv_tile;
  }

  // Where the rows of a tile end that begins at `row_begin`.
  int32_t row_end(int64_t position, int64_t row_begin, int64_t row_end) const {
    if (!rows_move(plan_, position)) return narrow(row_end);
    const int64_t most = rows_ > 0 ? row_begin + rows_ : row_end;
    const RefreshRequest& request = plan_.requests[static_cast<size_t>(position)];
    return narrow(std::max(std::min(request.rows, most), row_begin));
  }

  // The items of one tile, in KV order. The last begins where the host cut; the first where the
  // first row's window does.
  void write(std::span<attnplan_work_item> items) const {
    const attnplan_work_item& first = items.front();
    const RefreshRequest& request = plan_.requests[static_cast<size_t>(first.request)];
    const RefreshRules& rules = plan_.rules;
    const int64_t rows = row_end(first.request, first.row_begin, first.row_end);
    int64_t seen = request.tokens, from = 0;
    if (rules.causal) seen = std::min(seen, request.context + rows);
    if (rows <= first.row_begin) seen = 0;
    if (rules.sliding_window > 0) {
      from = std::max<int64_t>(request.context + first.row_begin + 1 - rules.sliding_window, 0);
    }
    for (size_t i = 0; i < items.size(); ++i) {
      attnplan_work_item& item = items[i];
      const int64_t cut = i + 1 < items.size() ? items[i + 1].kv_begin : INT32_MAX;
      if (i == 0 && rules.sliding_window == 0) item.kv_begin = 0;
      if (i == 0 && rules.sliding_window > 0 && kv_tile_ > 0) {
        item.kv_begin = narrow(std::min(std::min(from, seen) / kv_tile_ * kv_tile_, cut));
      }
      item.row_end = narrow(rows);
      item.kv_end = narrow(std::max<int64_t>(std::min(cut, seen), item.kv_begin));
      if (cut <= from) item.kv_end = item.kv_begin;  // the window begins behind
      item.flags = 0;
      const bool masked = rules.causal && item.kv_end > request.context + item.row_begin + 1;
      if (masked) item.flags |= ATTNPLAN_ITEM_CAUSAL_MASK;
      const bool windowed =
          rules.sliding_window > 0 && item.kv_begin < request.context + rows - rules.sliding_window;
      if (windowed) item.flags |= ATTNPLAN_ITEM_WINDOW_MASK;
    }
  }

 private:
  const RefreshPlan& plan_;
  int64_t rows_ = 0;  // of a tile; 0: unknown
  int64_t kv_tile_ = 0;
};

}  // namespace

void refresh_segments(RefreshPlan* plan) {
  if (!plan->wanted(ATTNPLAN_SECTION_SEGMENTS)) return;
  attnplan_plan_header& header = plan->header();
  header.max_decode_query_len = header.max_extend_query_len = header.max_prefill_query_len = 0;
  for (attnplan_segment& s : plan->segments) {
    measure(requests_of(*plan, s), &s);
    int32_t& longest = s.route == 1   ? header.max_decode_query_len
                       : s.route == 2 ? header.max_extend_query_len
                                      : header.max_prefill_query_len;
    longest = std::max(longest, s.max_query_len);
  }
}

void refresh_chunks(RefreshPlan* plan) {
  const auto skip = plan->room<int32_t>(ATTNPLAN_SECTION_CHUNK_SKIP_MERGE, ATTNPLAN_SECTION_CHUNKS);
  if (!plan->wanted(ATTNPLAN_SECTION_CHUNKS)) return;
  int64_t tokens = 0;
  for (const attnplan_chunk_set& set : plan->values<attnplan_chunk_set>(ATTNPLAN_SECTION_CHUNKS)) {
    const attnplan_segment& s = plan->segments[static_cast<size_t>(set.segment)];
    int64_t p = s.req_begin;
    for (const RefreshRequest& request : requests_of(*plan, s)) {
      RefreshPlan::put(skip, p++, request.context_in_cache() == 0 ? 1 : 0);
      plan->findings.chunks |=
          request.context_in_cache() > int64_t{set.num_chunks} * set.chunk_tokens;
    }
    for (int32_t k = 0; k < set.num_chunks; ++k) tokens += write_chunk(plan, set, k, tokens);
  }
  const auto sets = plan->values<attnplan_chunk_set>(ATTNPLAN_SECTION_CHUNKS);
  if (!sets.empty()) plan->set_count(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, tokens);
}

void refresh_windows(RefreshPlan* plan) {
  constexpr int32_t kWindow = ATTNPLAN_SECTION_WINDOW;
  const auto window = plan->room<attnplan_window>(kWindow);
  const auto starts = plan->room<int32_t>(ATTNPLAN_SECTION_WINDOW_START, kWindow);
  const auto ends = plan->room<int32_t>(ATTNPLAN_SECTION_WINDOW_CU_LEN, kWindow);
  int64_t number = 0, total = 0, longest = 0;
  RefreshPlan::put(ends, 0, 0);
  for (const attnplan_segment& s : plan->segments) {
    if (s.route != 2 || window.empty()) continue;  // extend
    for (const RefreshRequest& request : requests_of(*plan, s)) {
      int64_t start = 0;
      if (request.live() && plan->rules.sliding_window > 0) {
        start = std::max<int64_t>(request.context_in_cache() + 1 - plan->rules.sliding_window, 0);
      }
      const int64_t len = std::max<int64_t>(request.tokens - start, 0);
      total += len;
      longest = std::max(longest, len);
      RefreshPlan::put(starts, number, narrow(start));
      RefreshPlan::put(ends, ++number, index_of(total));
    }
  }
  if (!window.empty()) {
    window[0].max_len = narrow(longest);
    window[0].total = total;
  }
  refresh_local(plan);
}

void refresh_work(RefreshPlan* plan) {
  const auto work = plan->room<attnplan_work>(ATTNPLAN_SECTION_WORK);
  if (work.empty()) return;
  const WorkTiles tiles(*plan, work[0]);
  const auto items = plan->values<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS);
  for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
    const attnplan_work_item& first = items[begin];
    while (end < items.size() && items[end].request == first.request &&
           items[end].kv_head == first.kv_head && items[end].row_begin == first.row_begin) {
      ++end;
    }
    tiles.write(items.subspan(begin, end - begin));
  }
  for (attnplan_merge_tile& tile :
       plan->values<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES)) {
    tile.row_end = tiles.row_end(tile.request, tile.row_begin, tile.row_end);
  }
}

}  // namespace attnplan::cpu
