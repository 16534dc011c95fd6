// The work list: items inside their requests, every output written once, every partial result
// merged once and in KV order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/verify_checks.h"

namespace attnplan {
namespace {

constexpr int32_t kWork = ATTNPLAN_SECTION_WORK, kItems = ATTNPLAN_SECTION_WORK_ITEMS,
                  kWorkers = ATTNPLAN_SECTION_WORKER_INDPTR, kTiles = ATTNPLAN_SECTION_MERGE_TILES,
                  kIndptr = ATTNPLAN_SECTION_MERGE_INDPTR, kSlots = ATTNPLAN_SECTION_MERGE_SLOTS;
constexpr int64_t kMostWorkers = 65536;

// From 0, never down, to exactly the length of the list.
bool check_indptr(const Blob& blob, int32_t section, int64_t lists, int64_t list_size,
                  Checks* checks) {
  if (!check_extent(blob, section, lists + 1, lists + 1, checks)) return false;
  int64_t before = 0, i = 0;
  for (const int32_t start : blob.ints(section)) {
    const int64_t low = i == lists ? list_size : before;
    if (!checks->in(at(section, i), "start", start, low, i == 0 ? 0 : list_size)) return false;
    before = start;
    ++i;
  }
  return true;
}

class WorkChecks {
 public:
  WorkChecks(const Blob& blob, Checks* checks)
      : blob_(blob),
        checks_(*checks),
        items_(blob.plan.values<attnplan_work_item>(kItems)),
        tiles_(blob.plan.values<attnplan_merge_tile>(kTiles)),
        slots_(blob.ints(kSlots)) {}

  bool run() {
    if (!check_extent(blob_, kWork, 1, 1, &checks_)) return false;
    const attnplan_work& work = blob_.plan.values<attnplan_work>(kWork)[0];
    return check_summary(work) && check_lists(work) && check_items(work) && check_merges() &&
           check_heads();
  }

 private:
  bool check_summary(const attnplan_work& work) {
    const bool fixed = work.policy == ATTNPLAN_WORK_LIST_FIXED;
    const int64_t most = work.max_slots == 0 && fixed ? INT32_MAX : work.max_slots;
    return checks_.in(at(kWork), "policy", work.policy, ATTNPLAN_WORK_LIST_STREAM_K,
                      ATTNPLAN_WORK_LIST_FIXED) &&
           checks_.in(at(kWork), "workers", work.workers, 1, kMostWorkers) &&
           checks_.in(at(kWork), "query_tile", work.query_tile, 0, INT32_MAX) &&
           checks_.in(at(kWork), "kv_tile", work.kv_tile, 0, INT32_MAX) &&
           checks_.in(at(kWork), "max_slots", work.max_slots, 0, INT32_MAX) &&
           checks_.in(at(kWork), "num_slots", work.num_slots, 0, most) &&
           checks_.in(at(kWork), "makespan", work.makespan, 0, INT64_MAX) &&
           ((std::isfinite(work.mean) && work.mean >= 0) ||
            checks_.wrong(at(kWork), "has a mean that is no load"));
  }

  bool check_lists(const attnplan_work& work) {
    const auto slots = static_cast<int64_t>(slots_.size());
    return checks_.is(at(kSlots), "count", slots, work.num_slots) &&
           check_indptr(blob_, kWorkers, work.workers, static_cast<int64_t>(items_.size()),
                        &checks_) &&
           check_indptr(blob_, kIndptr, static_cast<int64_t>(tiles_.size()), slots, &checks_);
  }

  // A tile of output lies in one request. A request without rows has none.
  bool check_tile(Place place, int64_t request, int64_t row_begin, int64_t row_end) {
    if (!checks_.in(place, "request", request, 0, blob_.requests - 1)) return false;
    const attnplan_segment* s = blob_.segment_of(request);
    if (s == nullptr) return checks_.wrong(place, "is of a pad", request);
    // Where the device splits rows, each request gets as many as it may bring.
    const bool exact = (s->flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
    const int64_t most = exact ? blob_.most_rows(*s, request) : s->max_query_len;
    return checks_.in(place, "row_end", row_end, 1, most) &&
           checks_.in(place, "row_begin", row_begin, 0, row_end - 1);
  }

  bool check_items(const attnplan_work& work) {
    item_of_slot_.assign(slots_.size(), -1);
    for (size_t i = 0; i < items_.size(); ++i) {
      const attnplan_work_item& item = items_[i];
      const Place place = at(kItems, static_cast<int64_t>(i));
      if (!check_tile(place, item.request, item.row_begin, item.row_end)) return false;
      const attnplan_segment& s = *blob_.segment_of(item.request);
      const auto seq_lens = blob_.ints(ATTNPLAN_SECTION_SEQ_LENS);
      const int64_t behind =
          seq_lens.empty() ? s.max_seq_len : seq_lens[static_cast<size_t>(item.request)];
      if (!checks_.in(place, "kv_end", item.kv_end, 0, behind) ||
          !checks_.in(place, "kv_begin", item.kv_begin, 0, item.kv_end) ||
          !checks_.in(place, "slot", item.slot, -1, int64_t{work.num_slots} - 1) ||
          !checks_.in(place, "flags", item.flags, 0,
                      ATTNPLAN_ITEM_CAUSAL_MASK | ATTNPLAN_ITEM_WINDOW_MASK)) {
        return false;
      }
      if (item.slot < 0) {
        outputs_.push_back({item.kv_head, int64_t{item.row_end} - item.row_begin, place});
        continue;
      }
      int64_t& known = item_of_slot_[static_cast<size_t>(item.slot)];
      if (known >= 0) return checks_.wrong(place, "writes a slot for the second time", item.slot);
      known = static_cast<int64_t>(i);
    }
    return true;
  }

  bool check_merges() {
    const auto indptr = blob_.ints(kIndptr);
    std::vector<bool> merged(slots_.size(), false);
    for (size_t t = 0; t < tiles_.size(); ++t) {
      const attnplan_merge_tile& tile = tiles_[t];
      const Place place = at(kTiles, static_cast<int64_t>(t));
      if (!check_tile(place, tile.request, tile.row_begin, tile.row_end)) return false;
      outputs_.push_back({tile.kv_head, int64_t{tile.row_end} - tile.row_begin, place});
      int64_t kv_end = -1;
      for (int64_t k = indptr[t]; k < indptr[t + 1]; ++k) {
        if (!check_merge(tile, k, &kv_end, &merged)) return false;
      }
      if (kv_end < 0) return checks_.wrong(place, "has no partial results");
    }
    return true;
  }

  bool check_merge(const attnplan_merge_tile& tile, int64_t k, int64_t* kv_end,
                   std::vector<bool>* merged) {
    const Place place = at(kSlots, k);
    const int64_t slot = slots_[static_cast<size_t>(k)];
    if (!checks_.in(place, "slot", slot, 0, static_cast<int64_t>(slots_.size()) - 1)) return false;
    const int64_t i = item_of_slot_[static_cast<size_t>(slot)];
    if (i < 0) return checks_.wrong(place, "names a slot that no item writes", slot);
    if ((*merged)[static_cast<size_t>(slot)]) {
      return checks_.wrong(place, "merges a slot for the second time", slot);
    }
    (*merged)[static_cast<size_t>(slot)] = true;
    const attnplan_work_item& item = items_[static_cast<size_t>(i)];
    const bool same = item.request == tile.request && item.kv_head == tile.kv_head &&
                      item.row_begin == tile.row_begin && item.row_end == tile.row_end;
    if (!same) return checks_.wrong(place, "names a slot of another tile", slot);
    if (*kv_end >= 0 && !checks_.is(at(kItems, i), "kv_begin", item.kv_begin, *kv_end)) {
      return false;
    }
    *kv_end = item.kv_end;
    return true;
  }

  // How many KV heads there are only the planner knows; but every one of them (-1: all of them) has
  // all the rows.
  bool check_heads() {
    const auto tiles = static_cast<int64_t>(outputs_.size());
    const int64_t most = blob_.state != nullptr ? blob_.state->config.num_kv_heads : tiles;
    int64_t heads = 0;
    for (const Output& output : outputs_) {
      if (!checks_.in(output.place, "kv_head", output.kv_head, -1, most - 1)) return false;
      heads = std::max(heads, int64_t{output.kv_head} + 1);
    }
    std::vector<int64_t> rows(static_cast<size_t>(heads), 0);
    int64_t of_all_heads = 0;
    for (const Output& output : outputs_) {
      if (output.kv_head < 0) of_all_heads += output.rows;
      if (output.kv_head >= 0) rows[static_cast<size_t>(output.kv_head)] += output.rows;
    }
    bool exact = true;
    for (const attnplan_segment& s : blob_.segments) {
      exact &= (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
    }
    const int64_t expected = exact          ? blob_.rows
                             : rows.empty() ? of_all_heads
                                            : rows[0] + of_all_heads;
    if (heads == 0) return checks_.is(at(kItems), "rows of output", of_all_heads, expected);
    for (size_t head = 0; head < rows.size(); ++head) {
      if (!checks_.is({"kv_head", static_cast<int64_t>(head)}, "rows of output",
                      rows[head] + of_all_heads, expected)) {
        return false;
      }
    }
    return true;
  }

  struct Output {
    int32_t kv_head;
    int64_t rows;
    Place place;
  };

  const Blob& blob_;
  Checks& checks_;
  std::span<const attnplan_work_item> items_;
  std::span<const attnplan_merge_tile> tiles_;
  std::span<const int32_t> slots_;
  std::vector<int64_t> item_of_slot_;
  std::vector<Output> outputs_;
};

}  // namespace

bool check_work(const Blob& blob, Checks* checks) {
  const bool work = blob.has(kWork);
  for (int32_t id = kWork; id <= kSlots; ++id) {
    if (blob.has(id) != work) return checks->wrong(at(id), "stands without the rest of the list");
  }
  return !work || WorkChecks(blob, checks).run();
}

}  // namespace attnplan
