#include "follow_plan.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

namespace attnplan::plan {
namespace {

using property::Buffer;

// A list that knows its length. Reading it goes through memory, so a sanitizer sees it, too.
template <typename T>
struct List {
  std::string name;
  std::span<const T> values;

  bool there() const { return !values.empty(); }
  T operator[](int64_t i) const {
    if (i < 0 || i >= static_cast<int64_t>(values.size())) {
      throw std::out_of_range(name + "[" + std::to_string(i) + "] of " +
                              std::to_string(values.size()));
    }
    return values[static_cast<size_t>(i)];
  }
};

void require(bool holds, const char* what) {
  if (!holds) throw std::out_of_range(what);
}

class Follower {
 public:
  explicit Follower(const Buffer& plan)
      : plan_(plan),
        header_(*attnplan_plan_get_header(plan.data(), plan.size())),
        segments_(list<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS, "segments")),
        refusals_(list<attnplan_refusal>(ATTNPLAN_SECTION_REFUSALS, "refusals")),
        starts_(list<int32_t>(ATTNPLAN_SECTION_QUERY_START_LOC, "query_start_loc", true)),
        seq_lens_(list<int32_t>(ATTNPLAN_SECTION_SEQ_LENS, "seq_lens", true)),
        owners_(list<int32_t>(ATTNPLAN_SECTION_ROW_REQUEST, "row_request", true)),
        page_indptr_(list<int32_t>(ATTNPLAN_SECTION_PAGE_INDPTR, "page_indptr", true)),
        pages_(list<int32_t>(ATTNPLAN_SECTION_PAGE_INDICES, "page_indices", true)),
        table_(list<int32_t>(ATTNPLAN_SECTION_PAGE_TABLE, "page_table", true)),
        slots_(list<int64_t>(ATTNPLAN_SECTION_SLOTS, "slots", true)) {
    row_of_request_.assign(static_cast<size_t>(header_.num_reqs) + 1, -1);
  }

  void run() {
    order();
    for (int32_t i = 0; i < header_.num_segments; ++i) segment(segments_[i]);
    for (int32_t r = 0; r < header_.num_reqs; ++r) request(r);
    for (int32_t row = 0; row < header_.num_rows; ++row) read_row(row);
    graph();
    chunks();
    window();
    local();
    launch();
    work();
  }

 private:
  template <typename T>
  List<T> list(int32_t id, const char* name, bool with_pads = false) const {
    attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
    if (attnplan_plan_get_section(plan_.data(), plan_.size(), id, &view, nullptr) != ATTNPLAN_OK) {
      return {name, {}};
    }
    const int64_t size = with_pads ? view.capacity : view.count;
    return {name, {static_cast<const T*>(view.data), static_cast<size_t>(size)}};
  }

  void order() const {
    const auto order = list<int32_t>(ATTNPLAN_SECTION_ORDER, "order");
    std::vector<int32_t> seen(static_cast<size_t>(header_.num_reqs), 0);
    const List<int32_t> inputs{"requests of the step", seen};
    for (int32_t p = 0; order.there() && p < header_.num_reqs; ++p) {
      require(inputs[order[p]] == 0, "a request twice in the order");
      seen[static_cast<size_t>(order[p])] = 1;
    }
  }

  // A kernel that divides rows, one that reads starts: each launched on this segment.
  void segment(const attnplan_segment& s) {
    for (int32_t i = s.refusal_begin; i < s.refusal_end; ++i) refusals_[i];
    require(s.kernel >= 0 && s.route >= 1 && s.route <= 3, "no kernel or route");
    for (int32_t row = s.row_begin; s.width > 0 && row < s.row_end; ++row) {
      const int64_t r = s.req_begin + (row - s.row_begin) / s.width;
      require(r < s.req_end, "the width leads to another segment's request");
      require(row < header_.num_rows, "a row behind the step");
    }
    for (int32_t r = s.req_begin; starts_.there() && r < s.req_end; ++r) {
      const int64_t at = int64_t{s.query_start_loc_begin} + r - s.req_begin;
      const int32_t begin = starts_[at], end = starts_[at + 1];
      if (begin < 0 || end < 0) continue;  // only the device knows
      require(begin <= end && s.row_begin + int64_t{end} <= s.row_end, "rows of a request");
      row_of_request_[static_cast<size_t>(r)] = s.row_begin + begin;
    }
  }

  void request(int64_t r) const {
    if (seq_lens_.there()) require(seq_lens_[r] >= 0, "a negative length");
    if (page_indptr_.there() && page_indptr_[r] >= 0 && page_indptr_[r + 1] >= 0) {
      require(page_indptr_[r] <= page_indptr_[r + 1], "pages backwards");
      for (int32_t p = page_indptr_[r]; pages_.there() && p < page_indptr_[r + 1]; ++p) pages_[p];
    }
    for (int64_t c = 0; table_.there() && c < header_.page_table_width; ++c) {
      table_[r * header_.page_table_width + c];
    }
  }

  void read_row(int64_t row) const {
    if (slots_.there()) slots_[row];
    if (!owners_.there() || owners_[row] == -1) return;
    require(owners_[row] >= 0 && owners_[row] < header_.num_reqs, "row_request");
    if (seq_lens_.there()) seq_lens_[owners_[row]];
  }

  // What a captured launch covers beyond the step.
  void graph() const {
    if ((header_.flags & ATTNPLAN_PLAN_HAS_GRAPH) == 0) return;
    require(header_.graph_kind >= 0 && header_.graph_kind <= 2, "graph_kind");
    const int64_t first = header_.num_segments > 0 ? segments_[0].req_begin : 0;
    const int64_t end = header_.graph_width > 0 ? first + header_.graph_requests : 0;
    for (int64_t r = header_.num_reqs; r < end; ++r) request(r);
    for (int64_t row = header_.num_rows; row < header_.graph_rows; ++row) {
      if (slots_.there()) slots_[row];
      if (owners_.there() && owners_[row] != -1) require(owners_[row] < end, "a pad's request");
    }
  }

  void chunks() const {
    const auto sets = list<attnplan_chunk_set>(ATTNPLAN_SECTION_CHUNKS, "chunks");
    const auto all = list<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST, "chunk_list");
    const auto sums = list<int32_t>(ATTNPLAN_SECTION_CHUNK_CU_LENS, "chunk_cu_lens");
    const auto map = list<int32_t>(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, "token_to_request");
    for (const attnplan_chunk_set& set : sets.values) {
      const attnplan_segment s = segments_[set.segment];
      for (int32_t k = 0; k < set.num_chunks; ++k) {
        const attnplan_chunk chunk = all[int64_t{set.chunk_begin} + k];
        for (int32_t r = s.req_begin; r < s.req_end; ++r) {
          const int64_t at = int64_t{chunk.cu_lens_begin} + r - s.req_begin;
          require(sums[at] <= sums[at + 1] && sums[at + 1] <= chunk.total, "tokens of a chunk");
        }
        for (int32_t t = 0; map.there() && t < chunk.total; ++t) {
          const int32_t r = map[int64_t{chunk.token_begin} + t];
          require(r >= s.req_begin && r < s.req_end, "a token of another segment");
        }
      }
    }
    const auto skip = list<int32_t>(ATTNPLAN_SECTION_CHUNK_SKIP_MERGE, "chunk_skip_merge");
    for (int32_t r = 0; sets.there() && r < header_.num_reqs; ++r) skip[r];
  }

  void window() const {
    const auto windows = list<attnplan_window>(ATTNPLAN_SECTION_WINDOW, "window");
    if (!windows.there()) return;
    const auto starts = list<int32_t>(ATTNPLAN_SECTION_WINDOW_START, "window_start");
    const auto sums = list<int32_t>(ATTNPLAN_SECTION_WINDOW_CU_LEN, "window_cu_len");
    int32_t i = 0;
    for (const attnplan_segment& s : segments_.values) {
      for (int32_t r = s.req_begin; s.route == ATTNPLAN_ROUTE_EXTEND && r < s.req_end; ++r, ++i) {
        require(starts[i] >= 0 && sums[i] <= sums[i + 1], "what a window fetches");
        require(sums[i + 1] <= windows[0].total && sums[i + 1] - sums[i] <= windows[0].max_len,
                "more fetched than there is room for");
      }
    }
    require(i == windows[0].num_requests, "requests of a window");
  }

  void local() const {
    int64_t row = 0;
    for (const attnplan_local_batch& piece :
         list<attnplan_local_batch>(ATTNPLAN_SECTION_LOCAL, "local").values) {
      require(piece.request >= 0 && piece.request < header_.num_reqs, "a local batch's request");
      require(piece.query_len > 0 && piece.seq_len >= 0, "local batch");
      require(piece.seq_len == 0 || piece.first_block >= 0, "first block of a local batch");
      row += piece.query_len;
      require(row <= header_.num_rows, "rows of local batches");
    }
  }

  // The grid of every launch reads what belongs to its requests and rows; that of a full graph
  // asks the starts first, which end with the graph.
  void launch() const {
    const bool full = header_.graph_kind == ATTNPLAN_GRAPH_FULL;
    const int64_t first = header_.num_segments > 0 ? segments_[0].req_begin : 0;
    const int64_t requests = std::max<int64_t>(
        header_.num_reqs, header_.graph_width > 0 ? first + header_.graph_requests : 0);
    const int64_t rows = std::max(header_.num_rows, header_.graph_rows);
    for (const attnplan_launch& l :
         list<attnplan_launch>(ATTNPLAN_SECTION_LAUNCH, "launch").values) {
      const attnplan_segment s = segments_[l.segment];
      require(l.requests >= 1 && l.rows >= 1 && l.scratch_bytes >= 0, "an empty grid");
      const int64_t request_end = int64_t{s.req_begin} + l.requests;
      const int64_t row_end = int64_t{s.row_begin} + l.rows;
      for (int64_t r = s.req_begin; r < (full ? std::min(request_end, requests) : request_end);
           ++r) {
        request(r);
      }
      for (int64_t row = s.row_begin; row < (full ? std::min(row_end, rows) : row_end); ++row) {
        if (slots_.there()) slots_[row];
        if (owners_.there()) owners_[row];
      }
    }
  }

  void work() const {
    const auto works = list<attnplan_work>(ATTNPLAN_SECTION_WORK, "work");
    if (!works.there()) return;
    const auto items = list<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS, "work_items");
    const auto workers = list<int32_t>(ATTNPLAN_SECTION_WORKER_INDPTR, "worker_indptr");
    std::vector<int32_t> workspace(static_cast<size_t>(works[0].num_slots), 0);
    const List<int32_t> partials{"workspace", workspace};
    for (int32_t w = 0; w < works[0].workers; ++w) {
      for (int32_t i = workers[w]; i < workers[int64_t{w} + 1]; ++i) {
        const attnplan_work_item item = items[i];
        output(item.request, item.row_begin, item.row_end);
        require(0 <= item.kv_begin && item.kv_begin <= item.kv_end, "KV of an item");
        if (seq_lens_.there()) require(item.kv_end <= seq_lens_[item.request], "KV behind the end");
        if (item.slot == -1) continue;
        require(partials[item.slot] == 0, "a slot written twice");
        workspace[static_cast<size_t>(item.slot)] = 1;
      }
    }
    merges(partials);
  }

  void merges(const List<int32_t>& partials) const {
    const auto tiles = list<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES, "merge_tiles");
    const auto indptr = list<int32_t>(ATTNPLAN_SECTION_MERGE_INDPTR, "merge_indptr");
    const auto slots = list<int32_t>(ATTNPLAN_SECTION_MERGE_SLOTS, "merge_slots");
    for (int64_t t = 0; t < static_cast<int64_t>(tiles.values.size()); ++t) {
      output(tiles[t].request, tiles[t].row_begin, tiles[t].row_end);
      for (int32_t k = indptr[t]; k < indptr[t + 1]; ++k) {
        require(partials[slots[k]] == 1, "a slot that nobody wrote");
      }
    }
  }

  // Rows [begin, end) of a request, where it is known where they are.
  void output(int32_t r, int32_t begin, int32_t end) const {
    require(r >= 0 && r < header_.num_reqs, "an item's request");
    require(0 <= begin && begin < end, "an item's rows");
    const int64_t first = row_of_request_[static_cast<size_t>(r)];
    if (first >= 0 && header_.query_len_bound == 0) {
      require(first + end <= header_.num_rows, "rows behind the step");
    }
  }

  const Buffer& plan_;
  const attnplan_plan_header& header_;
  List<attnplan_segment> segments_;
  List<attnplan_refusal> refusals_;
  List<int32_t> starts_, seq_lens_, owners_, page_indptr_, pages_, table_;
  List<int64_t> slots_;
  std::vector<int64_t> row_of_request_;
};

}  // namespace

std::string follow_plan(const property::Buffer& plan) {
  try {
    Follower(plan).run();
    return "";
  } catch (const std::out_of_range& problem) {
    return problem.what();
  }
}

}  // namespace attnplan::plan
