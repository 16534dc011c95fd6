// Lists whose shape the host chose, judged by the true lengths alone.
#include <algorithm>
#include <map>
#include <tuple>

#include "same_plan.h"
#include "sections.h"

namespace attnplan::refresh {
namespace {

using property::segments_of;

// Lengths of the request at a plan position.
struct Known {
  int64_t rows, tokens, context;
};

std::vector<Known> known_lengths(const Buffer& plan, const Batch& truth,
                                 const cpu::RefreshRules& rules, const Tensors& tensors) {
  const auto order = values<int32_t>(plan, ATTNPLAN_SECTION_ORDER);
  std::vector<Known> out;
  for (size_t p = 0; p < truth.query.size(); ++p) {
    const size_t i = order.empty() ? p : static_cast<size_t>(order[p]);
    const int64_t rows = truth.query[i], total = (*truth.seq_lens)[i];
    int64_t room = INT32_MAX;
    if (!tensors.indptr.empty()) {
      room = (tensors.indptr[i + 1] - tensors.indptr[i]) * rules.block_size;
    } else if (!tensors.ids.empty()) {
      room = tensors.tokens ? tensors.columns : tensors.columns * rules.block_size;
    }
    if (rows == 0) {
      out.push_back({0, 0, 0});
    } else {
      out.push_back({rows, std::min(total, room), std::max<int64_t>(total - rows, 0)});
    }
  }
  return out;
}

}  // namespace

std::string check_chunks(const Buffer& plan, const Batch& truth, const cpu::RefreshRules& rules,
                         const Tensors& tensors) {
  const auto lengths = known_lengths(plan, truth, rules, tensors);
  const auto list = values<attnplan_chunk>(plan, ATTNPLAN_SECTION_CHUNK_LIST);
  const auto ends = values<int32_t>(plan, ATTNPLAN_SECTION_CHUNK_CU_LENS);
  const auto map = values<int32_t>(plan, ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST);
  int64_t tokens = 0;
  for (const auto& set : values<attnplan_chunk_set>(plan, ATTNPLAN_SECTION_CHUNKS)) {
    const attnplan_segment& s = segments_of(plan)[static_cast<size_t>(set.segment)];
    std::vector<int64_t> left;
    for (int32_t p = s.req_begin; p < s.req_end; ++p) {
      const Known& known = lengths[static_cast<size_t>(p)];
      left.push_back(std::min(known.context, known.tokens));
    }
    for (int32_t k = 0; k < set.num_chunks; ++k) {
      const attnplan_chunk& chunk = list[static_cast<size_t>(int64_t{set.chunk_begin} + k)];
      int64_t total = 0, longest = 0;
      for (size_t i = 0; i < left.size(); ++i) {
        const int64_t len = std::min<int64_t>(left[i], set.chunk_tokens);
        left[i] -= len;
        for (int64_t t = 0; !map.empty() && t < len; ++t) {
          const int32_t owner = map[static_cast<size_t>(tokens + total + t)];
          if (owner != s.req_begin + static_cast<int32_t>(i)) return differs("map", t, owner, 0);
        }
        total += len;
        longest = std::max(longest, len);
        const auto at = static_cast<size_t>(chunk.cu_lens_begin) + i + 1;
        if (ends[at] != total) return differs("cu_lens", static_cast<int64_t>(at), ends[at], total);
      }
      if (chunk.total != total) return differs("chunk total", k, chunk.total, total);
      if (chunk.max_len != longest) return differs("chunk max_len", k, chunk.max_len, longest);
      if (chunk.token_begin != tokens) return differs("token_begin", k, chunk.token_begin, tokens);
      tokens += total;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i] != 0) return differs("context left over", static_cast<int64_t>(i), left[i], 0);
    }
  }
  if (find(plan, ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST) != nullptr &&
      static_cast<int64_t>(map.size()) != tokens) {
    return differs("map count", 0, static_cast<int64_t>(map.size()), tokens);
  }
  return "";
}

namespace {

std::string words(const attnplan_work_item& item) {
  return "item of request " + std::to_string(item.request) + " head " +
         std::to_string(item.kv_head) + " rows " + std::to_string(item.row_begin) + "-" +
         std::to_string(item.row_end) + " KV " + std::to_string(item.kv_begin) + "-" +
         std::to_string(item.kv_end) + " flags " + std::to_string(item.flags);
}

// One tile's items in KV order.
std::string check_tile(std::span<const attnplan_work_item> items, const Known& known,
                       const cpu::RefreshRules& rules) {
  const attnplan_work_item& first = items.front();
  const int64_t window = rules.sliding_window > 0 ? rules.sliding_window : INT64_MAX / 4;
  int64_t end = known.tokens;
  if (rules.causal) end = std::min(end, known.context + first.row_end);
  if (first.row_end == first.row_begin) end = 0;
  const int64_t begin = std::max<int64_t>(known.context + first.row_begin + 1 - window, 0);
  int64_t at = -1;  // covered up to here
  for (const attnplan_work_item& item : items) {
    if (item.row_end != first.row_end) return "rows differ in one tile: " + words(item);
    if (item.kv_begin > item.kv_end) return "KV ends before it begins: " + words(item);
    const int64_t last_window = known.context + item.row_end - window;
    const bool masked = rules.causal && known.context + item.row_begin + 1 < item.kv_end;
    if (masked != ((item.flags & ATTNPLAN_ITEM_CAUSAL_MASK) != 0)) return "causal: " + words(item);
    if ((last_window > item.kv_begin) != ((item.flags & ATTNPLAN_ITEM_WINDOW_MASK) != 0)) {
      return "window: " + words(item);
    }
    if (item.kv_begin == item.kv_end) continue;
    if (at >= 0 && item.kv_begin != at) return "a gap or an overlap: " + words(item);
    if (at < 0 && item.kv_begin > begin) return "the beginning is not covered: " + words(item);
    // A window that begins behind all keys leaves one tile of them, as in the planner's list.
    if (item.kv_end <= begin && begin < end) return "nobody sees any of: " + words(item);
    at = item.kv_end;
  }
  if (std::max<int64_t>(at, 0) == std::max<int64_t>(end, 0)) return "";
  if (at < 0 && end <= begin) return "";
  return "covered up to " + std::to_string(at) + " of " + std::to_string(end) + ": " + words(first);
}

}  // namespace

std::string check_work(const Buffer& refreshed, const Buffer& host, const Batch& truth,
                       const cpu::RefreshRules& rules, const Tensors& tensors) {
  const auto items = values<attnplan_work_item>(refreshed, ATTNPLAN_SECTION_WORK_ITEMS);
  const auto planned = values<attnplan_work_item>(host, ATTNPLAN_SECTION_WORK_ITEMS);
  const auto lengths = known_lengths(refreshed, truth, rules, tensors);
  if (items.size() != planned.size()) return "another number of items";
  std::map<std::tuple<int32_t, int32_t, int32_t>, std::vector<attnplan_work_item>> tiles;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].slot != planned[i].slot) return "a slot was changed: " + words(items[i]);
    tiles[{items[i].request, items[i].kv_head, items[i].row_begin}].push_back(items[i]);
  }
  std::map<std::pair<int32_t, int32_t>, int32_t> rows;  // covered so far, by request and head
  for (const auto& [key, tile] : tiles) {
    const Known& known = lengths[static_cast<size_t>(std::get<0>(key))];
    std::string wrong = check_tile(tile, known, rules);
    if (!wrong.empty()) return wrong;
    int32_t& covered = rows[{std::get<0>(key), std::get<1>(key)}];
    if (tile[0].row_begin != tile[0].row_end && tile[0].row_begin != covered) return "rows jump";
    covered = std::max(covered, tile[0].row_end == tile[0].row_begin ? 0 : tile[0].row_end);
  }
  for (const auto& [key, covered] : rows) {
    const int64_t expected = lengths[static_cast<size_t>(key.first)].rows;
    if (covered != expected) return differs("rows of request", key.first, covered, expected);
  }
  for (const auto& tile : values<attnplan_merge_tile>(refreshed, ATTNPLAN_SECTION_MERGE_TILES)) {
    const auto found = tiles.find({tile.request, tile.kv_head, tile.row_begin});
    if (found == tiles.end()) return "a merge tile without items";
    if (found->second[0].row_end != tile.row_end) return "a merge tile of other rows";
  }
  return "";
}

}  // namespace attnplan::refresh
