// Partial outputs, who merges them, and how the work is shared out.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "check_work.h"

namespace attnplan::schedule {
namespace {

using Item = attnplan_work_item;
using Tile = std::tuple<int32_t, int32_t, int32_t, int32_t>;

template <typename T>
Tile tile_of(const T& at) {
  return {at.request, at.kv_head, at.row_begin, at.row_end};
}

// The slots of every tile, in the order of their KV.
std::map<Tile, std::vector<int32_t>> slots_by_tile(std::span<const Item> items) {
  std::vector<Item> sorted(items.begin(), items.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Item& a, const Item& b) { return a.kv_begin < b.kv_begin; });
  std::map<Tile, std::vector<int32_t>> out;
  for (const Item& item : sorted) out[tile_of(item)].push_back(item.slot);
  return out;
}

// Chunks of a fixed size: as many as the longest batch has, and 0 where nothing limits it.
bool has_no_bound(const WorkBatch& batch, const WorkList& list) {
  return list.work.policy == ATTNPLAN_WORK_LIST_FIXED && list.work.max_slots == 0 &&
         (batch.settings.max_num_batched_tokens == 0 || batch.settings.max_model_len == 0);
}

}  // namespace

std::string check_slots(const WorkBatch& batch, const WorkList& list) {
  if (list.work.num_slots < 0) return "num_slots";
  std::vector<uint8_t> used(static_cast<size_t>(list.work.num_slots));
  int64_t slots = 0;
  for (const Item& item : list.items) {
    if (item.slot < -1 || item.slot >= list.work.num_slots) {
      return "slot " + std::to_string(item.slot) + " of " + std::to_string(list.work.num_slots);
    }
    if (item.slot < 0) continue;
    if (used[static_cast<size_t>(item.slot)]++ != 0) {
      return "slot " + std::to_string(item.slot) + " twice";
    }
    ++slots;
  }
  if (slots != list.work.num_slots) return "slots that nobody uses";
  if (list.work.num_slots > list.work.max_slots && !has_no_bound(batch, list)) {
    return "more slots than max_slots";
  }
  if (list.work.policy != ATTNPLAN_WORK_LIST_STREAM_K) return "";
  for (int32_t worker = 0; worker < list.work.workers; ++worker) {
    const auto items = list.items_of(worker);
    const auto partial =
        std::count_if(items.begin(), items.end(), [](const Item& item) { return item.slot >= 0; });
    if (partial > 2) return "worker " + std::to_string(worker) + " has more than two partials";
  }
  return "";
}

std::string check_merges(const WorkList& list) {
  std::map<Tile, std::vector<int32_t>> expected = slots_by_tile(list.items);
  std::erase_if(expected, [](const auto& tile) { return tile.second == std::vector{-1}; });
  if (expected.size() != list.merge_tiles.size()) {
    return std::to_string(list.merge_tiles.size()) + " merge tiles where " +
           std::to_string(expected.size()) + " tiles are shared";
  }
  for (size_t i = 0; i < list.merge_tiles.size(); ++i) {
    const auto found = expected.find(tile_of(list.merge_tiles[i]));
    if (found == expected.end()) return "merge tile " + std::to_string(i) + " is nobody's";
    const auto slots = list.slots_of(i);
    if (slots.size() < 2) return "a merge of one";
    if (!std::equal(slots.begin(), slots.end(), found->second.begin(), found->second.end())) {
      return "merge tile " + std::to_string(i) + " does not list its slots in KV order";
    }
    expected.erase(found);
  }
  return "";
}

std::string check_loads(const WorkBatch& batch, const WorkList& list) {
  if (list.work.workers != batch.settings.num_workers) return "workers";
  int64_t longest = 0, sum = 0;
  for (int32_t worker = 0; worker < list.work.workers; ++worker) {
    int64_t load = 0;
    for (const Item& item : list.items_of(worker)) {
      load += item.kv_end - item.kv_begin + kItemOverhead;
    }
    longest = std::max(longest, load);
    sum += load;
  }
  if (longest != list.work.makespan) {
    return "makespan " + std::to_string(list.work.makespan) + " is " + std::to_string(longest);
  }
  const double mean = static_cast<double>(sum) / list.work.workers;
  if (std::abs(mean - list.work.mean) > 1e-9 * std::max(1.0, mean)) {
    return "mean " + std::to_string(list.work.mean) + " is " + std::to_string(mean);
  }
  return "";
}

std::string check_work(const WorkBatch& batch, const WorkList& list) {
  const Visible visible(batch, list.order);
  std::string wrong = check_items(batch, visible, list);
  if (wrong.empty() && count_tokens(batch, visible) < 60000) {
    wrong = check_every_token(batch, visible, list);
  }
  if (wrong.empty()) wrong = check_flags(batch, visible, list);
  if (wrong.empty()) wrong = check_slots(batch, list);
  if (wrong.empty()) wrong = check_merges(list);
  if (wrong.empty()) wrong = check_loads(batch, list);
  return wrong;
}

}  // namespace attnplan::schedule
