// What a schedule consists of, and the one place that appends to a list that is built item by item.
#pragma once

#include <algorithm>
#include <memory_resource>
#include <vector>

#include "attnplan_plan_format.h"
#include "planner/work_cuts.h"

namespace attnplan {

struct WorkList {
  explicit WorkList(std::pmr::memory_resource* memory)
      : tiles(memory),
        tokens(memory),
        spans(memory),
        span_costs(memory),
        cut_arrays(memory),
        items(memory),
        worker_indptr(memory),
        merge_tiles(memory),
        merge_indptr(memory),
        merge_slots(memory) {}

  attnplan_work summary{};
  // Tiles of one KV head. Every segment has a span; where each of its requests is one tile,
  // stream_k needs no record of them.
  std::pmr::vector<WorkTile> tiles;
  std::pmr::vector<int32_t> tokens;  // of `tiles`
  std::pmr::vector<WorkSpan> spans;
  std::pmr::vector<int64_t> span_costs;  // with the overhead of each tile
  // The list is one of these two.
  bool is_cut = false;
  WorkCuts cuts;
  std::pmr::vector<int32_t> cut_arrays;
  std::pmr::vector<attnplan_work_item> items;  // by worker
  std::pmr::vector<int32_t> worker_indptr;
  std::pmr::vector<attnplan_merge_tile> merge_tiles;
  std::pmr::vector<int32_t> merge_indptr;
  std::pmr::vector<int32_t> merge_slots;
};

// Builds a list worker by worker. A tile's items are added in KV order, without another tile's in
// between.
class WorkBuilder {
 public:
  explicit WorkBuilder(WorkList* list) : list_(*list) {
    list_.is_cut = false;
    list_.items.clear();
    list_.worker_indptr.assign(1, 0);
    list_.merge_tiles.clear();
    list_.merge_indptr.assign(1, 0);
    list_.merge_slots.clear();
    list_.summary.num_slots = 0;
    list_.summary.makespan = 0;
  }

  void add(const WorkTile& tile, int32_t kv_head, int32_t kv_begin, int32_t kv_end) {
    const bool whole = kv_begin == tile.kv_begin && kv_end == tile.kv_end;
    uint32_t flags = 0;
    if (kv_end > tile.all_see) flags |= ATTNPLAN_ITEM_CAUSAL_MASK;
    if (kv_begin < tile.window_all) flags |= ATTNPLAN_ITEM_WINDOW_MASK;
    const int32_t slot = whole ? -1 : list_.summary.num_slots++;
    list_.items.push_back(
        {tile.request, kv_head, tile.row_begin, tile.row_end, kv_begin, kv_end, slot, flags});
    load_ += kv_end - kv_begin + kItemOverheadTokens;
    if (whole) return;
    list_.merge_slots.push_back(slot);
    if (kv_end < tile.kv_end) return;
    list_.merge_tiles.push_back({tile.request, kv_head, tile.row_begin, tile.row_end});
    list_.merge_indptr.push_back(static_cast<int32_t>(list_.merge_slots.size()));
  }

  int64_t load() const { return load_; }

  void finish_worker() {
    list_.worker_indptr.push_back(static_cast<int32_t>(list_.items.size()));
    list_.summary.makespan = std::max(list_.summary.makespan, load_);
    total_ += load_;
    load_ = 0;
  }

  // Workers that got nothing, and the figures of the whole list.
  void finish(int32_t policy, int32_t workers) {
    list_.worker_indptr.resize(static_cast<size_t>(workers) + 1,
                               static_cast<int32_t>(list_.items.size()));
    list_.summary.policy = policy;
    list_.summary.workers = workers;
    list_.summary.mean = static_cast<double>(total_) / workers;
  }

 private:
  WorkList& list_;
  int64_t load_ = 0;
  int64_t total_ = 0;
};

}  // namespace attnplan
