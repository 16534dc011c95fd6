// The work list under the true lengths. Which tiles there are and where their KV is cut stays as
// the host planned it; what ends at a length follows the lengths: the end of each tile's last item
// with KV, and, where the device splits rows, the rows of the tiles. The cuts are kept in the items
// that begin there, so the next refresh may make a request longer again.
#pragma once

#include <cstdint>

#include "hip/refresh_step.h"

namespace attnplan::hip {

class RefreshWork {
 public:
  ATTNPLAN_DEVICE RefreshWork(const RefreshStep& step, const PlanReader& plan)
      : step_(step),
        args_(step.args()),
        plan_(plan),
        items_(plan.find<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS)) {}

  ATTNPLAN_DEVICE void run() {
    const auto work = plan_.find<const attnplan_work>(ATTNPLAN_SECTION_WORK);
    const bool wanted = args_.sections == 0 || (args_.sections >> ATTNPLAN_SECTION_WORK & 1) != 0;
    if (!work || !wanted) return;
    const int32_t query_tile = args_.query_tile > 0 ? args_.query_tile : work.data[0].query_tile;
    tile_rows_ = query_tile > 0 ? at_least(query_tile / at_least(args_.group, 1), 1) : 0;
    kv_tile_ = args_.kv_tile > 0 ? args_.kv_tile : work.data[0].kv_tile;
    const int32_t first = block_index() * block_threads() + thread_index();
    const int32_t step = grid_blocks() * block_threads();
    for (int64_t i = first; i < items_.count; i += step) write_item(i);
    const auto tiles = plan_.find<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES);
    for (int64_t i = first; tiles && i < tiles.count; i += step) {
      attnplan_merge_tile& tile = tiles.data[i];
      if (!rows_move(tile.request)) continue;
      tile.row_end = row_end_of(tile.row_begin, tile.row_end, step_.lengths(tile.request));
    }
  }

 private:
  ATTNPLAN_DEVICE bool rows_move(int32_t request) const {
    const auto segments = plan_.find<const attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS);
    for (int32_t i = 0; i < segments.count; ++i) {
      const attnplan_segment& s = segments.data[i];
      if (request < s.req_begin || request >= s.req_end) continue;
      return (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) == 0;
    }
    return false;
  }
  // Rows of a tile that the request really has. A tile of unknown size can only shrink.
  ATTNPLAN_DEVICE int32_t row_end_of(int32_t row_begin, int32_t row_end,
                                     const RequestLengths& lengths) const {
    const int64_t most = tile_rows_ > 0 ? int64_t{row_begin} + tile_rows_ : row_end;
    return static_cast<int32_t>(
        at_least<int64_t>(at_most<int64_t>(lengths.query_len, most), row_begin));
  }
  ATTNPLAN_DEVICE bool same_tile(const attnplan_work_item& a, int64_t other) const {
    if (other < 0 || other >= items_.count) return false;
    const attnplan_work_item& b = items_.data[other];
    return a.request == b.request && a.kv_head == b.kv_head && a.row_begin == b.row_begin;
  }

  // Threads read kv_begin of items that do not begin a tile, and write it of those that do.
  ATTNPLAN_DEVICE void write_item(int64_t index) const {
    attnplan_work_item& item = items_.data[index];
    const RequestLengths lengths = step_.lengths(item.request);
    const bool causal = (args_.flags & kRefreshCausal) != 0;
    int32_t row_end = item.row_end;
    if (rows_move(item.request)) row_end = row_end_of(item.row_begin, row_end, lengths);
    const bool empty = row_end <= item.row_begin;
    int64_t visible = lengths.seq_len;
    if (causal) visible = at_most(visible, int64_t{lengths.context} + row_end);
    if (empty) visible = 0;
    int64_t cut = INT32_MAX;
    if (same_tile(item, index + 1)) cut = items_.data[index + 1].kv_begin;
    int64_t begin = item.kv_begin;
    if (!same_tile(item, index - 1)) {
      begin = first_token(item, lengths, visible, cut);
      item.kv_begin = static_cast<int32_t>(begin);
    }
    const int64_t end = at_least(at_most(cut, visible), begin);
    // Of a tile whose window begins behind it the item has nothing left.
    const bool passed = cut <= window_begin(item.row_begin, lengths);
    item.row_end = row_end;
    item.kv_end = static_cast<int32_t>(passed ? begin : end);
    item.flags = flags_of(item, lengths, causal);
  }
  ATTNPLAN_DEVICE int64_t window_begin(int32_t row, const RequestLengths& lengths) const {
    if (args_.sliding_window == 0) return 0;
    return at_least<int64_t>(int64_t{lengths.context} + row - args_.sliding_window + 1, 0);
  }
  // Of a tile's first item.
  ATTNPLAN_DEVICE int64_t first_token(const attnplan_work_item& item, const RequestLengths& lengths,
                                      int64_t visible, int64_t cut) const {
    if (args_.sliding_window == 0) return 0;
    if (kv_tile_ == 0) return item.kv_begin;
    const int64_t begin = at_most(window_begin(item.row_begin, lengths), visible);
    return at_most(begin / kv_tile_ * kv_tile_, cut);
  }
  ATTNPLAN_DEVICE uint32_t flags_of(const attnplan_work_item& item, const RequestLengths& lengths,
                                    bool causal) const {
    uint32_t flags = 0;
    const int64_t context = lengths.context;
    if (causal && item.kv_end > context + item.row_begin + 1) flags |= ATTNPLAN_ITEM_CAUSAL_MASK;
    if (args_.sliding_window > 0 && item.kv_begin < context + item.row_end - args_.sliding_window) {
      flags |= ATTNPLAN_ITEM_WINDOW_MASK;
    }
    return flags;
  }

  const RefreshStep& step_;
  const RefreshArgs& args_;
  const PlanReader& plan_;
  Section<attnplan_work_item> items_;
  int32_t tile_rows_ = 0;
  int32_t kv_tile_ = 0;
};

}  // namespace attnplan::hip
