// Coverage: which rows and which KV the items of a work list are.
#include <algorithm>
#include <tuple>

#include "check_work.h"

namespace attnplan::schedule {
namespace {

using Item = attnplan_work_item;

std::string item_words(const Item& item) {
  return "item request " + std::to_string(item.request) + ", head " + std::to_string(item.kv_head) +
         ", rows [" + std::to_string(item.row_begin) + "," + std::to_string(item.row_end) +
         "), KV [" + std::to_string(item.kv_begin) + "," + std::to_string(item.kv_end) +
         "), slot " + std::to_string(item.slot) + ", flags " + std::to_string(item.flags);
}

auto tile_of(const Item& item) {
  return std::tuple(item.request, item.kv_head, item.row_begin, item.row_end);
}

std::vector<Item> in_order(std::span<const Item> items) {
  std::vector<Item> sorted(items.begin(), items.end());
  std::sort(sorted.begin(), sorted.end(), [](const Item& a, const Item& b) {
    return std::tuple(tile_of(a), a.kv_begin) < std::tuple(tile_of(b), b.kv_begin);
  });
  return sorted;
}

std::string check_names(const WorkBatch& batch, const Visible& visible, const Item& item) {
  if (item.request < 0 || item.request >= static_cast<int32_t>(visible.size())) return "request";
  if (item.kv_head < -1 || item.kv_head >= batch.settings.num_kv_heads) return "kv_head";
  const int32_t rows = visible.rows(static_cast<size_t>(item.request));
  if (rows == 0) return "a pad has an item";
  if (item.row_begin < 0 || item.row_begin >= item.row_end || item.row_end > rows) return "rows";
  if (item.kv_begin < 0 || item.kv_begin > item.kv_end) return "KV";
  return "";
}

// What the rows of a tile may see together.
Range seen_by(const Visible& visible, const Item& tile) {
  const auto position = static_cast<size_t>(tile.request);
  Range all{INT64_MAX, 0};
  for (int32_t row = tile.row_begin; row < tile.row_end; ++row) {
    const Range range = visible.of(position, row);
    if (range.empty()) continue;
    all.begin = std::min(all.begin, range.begin);
    all.end = std::max(all.end, range.end);
  }
  return all;
}

// Live rows without any KV still have an output that somebody must write.
std::string check_blind_tile(std::span<const Item> items) {
  const Item& item = items[0];
  return items.size() == 1 && item.kv_begin == item.kv_end && item.slot == -1
             ? ""
             : "rows that see nothing take one item of no KV";
}

std::string check_tile(const Visible& visible, std::span<const Item> items, int32_t kv_tile) {
  const Range seen = seen_by(visible, items[0]);
  if (seen.empty()) return check_blind_tile(items);
  const int64_t first = seen.begin / kv_tile * kv_tile;
  const bool exact = visible.exact(static_cast<size_t>(items[0].request));
  if (items.front().kv_begin > first) return "KV that is not covered";
  if (exact && items.front().kv_begin < first) return "KV that no row may see, in front";
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kv_begin == items[i].kv_end) return "an item without KV";
    if (items[i].kv_begin % kv_tile != 0) return "KV is not cut at a multiple of the KV tile";
    if (i > 0 && items[i].kv_begin != items[i - 1].kv_end) return "a gap or an overlap";
  }
  if (items.back().kv_end < seen.end) return "KV that is not covered, at the end";
  if (items.back().kv_end > seen.end) return "KV that no row may see, at the end";
  return "";
}

// Tiles of one request and head: full ones, and the rest of the rows in a last one.
std::string check_rows(const WorkBatch& batch, const Visible& visible, const WorkList& list,
                       const std::vector<Item>& tiles) {
  const int32_t per_tile = std::max(1, list.work.query_tile / batch.group());
  const int32_t heads = batch.settings.num_kv_heads;
  size_t at = 0;
  for (size_t position = 0; position < visible.size(); ++position) {
    const int32_t rows = visible.rows(position);
    const bool every = at < tiles.size() && tiles[at].kv_head == -1;
    for (int32_t head = every ? -1 : 0; rows > 0 && head < (every ? 0 : heads); ++head) {
      for (int32_t row = 0; row < rows; row += per_tile, ++at) {
        const auto expected =
            std::tuple(static_cast<int32_t>(position), head, row, std::min(rows, row + per_tile));
        if (at == tiles.size() || tile_of(tiles[at]) != expected) {
          return "no tile of request " + std::to_string(position) + ", head " +
                 std::to_string(head) + " at row " + std::to_string(row);
        }
      }
    }
  }
  return at == tiles.size() ? "" : "more tiles than rows";
}

}  // namespace

std::string check_items(const WorkBatch& batch, const Visible& visible, const WorkList& list) {
  if (list.items.empty()) return check_rows(batch, visible, list, {});
  if (list.work.kv_tile < 1 || list.work.query_tile < 1) return "tiles of nothing";
  for (const Item& item : list.items) {
    const std::string wrong = check_names(batch, visible, item);
    if (!wrong.empty()) return wrong + ": " + item_words(item);
  }
  const std::vector<Item> items = in_order(list.items);
  std::vector<Item> tiles;
  for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
    while (end < items.size() && tile_of(items[end]) == tile_of(items[begin])) ++end;
    const std::span<const Item> tile = std::span(items).subspan(begin, end - begin);
    tiles.push_back(tile[0]);
    const std::string wrong = check_tile(visible, tile, list.work.kv_tile);
    if (!wrong.empty()) return wrong + ": " + item_words(tile[0]) + ", " + item_words(tile.back());
  }
  return check_rows(batch, visible, list, tiles);
}

int64_t count_tokens(const WorkBatch& batch, const Visible& visible) {
  int64_t cells = 0;
  for (size_t position = 0; position < visible.size(); ++position) {
    cells += visible.rows(position) * visible.seq_len(position);
  }
  return cells * batch.settings.num_kv_heads;
}

std::string check_every_token(const WorkBatch& batch, const Visible& visible,
                              const WorkList& list) {
  const int32_t heads = batch.settings.num_kv_heads;
  for (size_t position = 0; position < visible.size(); ++position) {
    const auto seq = static_cast<size_t>(visible.seq_len(position));
    const auto rows = static_cast<size_t>(visible.rows(position));
    std::vector<uint8_t> times(rows * static_cast<size_t>(heads) * seq);
    const auto cell = [&](int32_t row, int32_t head, int64_t token) -> uint8_t& {
      return times[(static_cast<size_t>(row) * static_cast<size_t>(heads) +
                    static_cast<size_t>(head)) *
                       seq +
                   static_cast<size_t>(token)];
    };
    for (const Item& item : list.items) {
      if (item.request != static_cast<int32_t>(position)) continue;
      if (item.kv_end > static_cast<int64_t>(seq)) return "KV behind the request";
      for (int32_t row = item.row_begin; row < item.row_end; ++row) {
        for (int32_t head = 0; head < heads; ++head) {
          if (item.kv_head != -1 && item.kv_head != head) continue;
          for (int64_t token = item.kv_begin; token < item.kv_end; ++token) {
            if (++cell(row, head, token) > 1) return "covered twice: " + item_words(item);
          }
        }
      }
    }
    for (int32_t row = 0; row < static_cast<int32_t>(rows); ++row) {
      const Range range = visible.of(position, row);
      for (int32_t head = 0; head < heads; ++head) {
        for (int64_t token = range.begin; token < range.end; ++token) {
          if (cell(row, head, token) == 0) {
            return "request " + std::to_string(position) + ", row " + std::to_string(row) +
                   ", head " + std::to_string(head) + ": token " + std::to_string(token) +
                   " is not covered";
          }
        }
      }
    }
  }
  return "";
}

std::string check_flags(const WorkBatch& batch, const Visible& visible, const WorkList& list) {
  const bool causal = batch.settings.mask == ATTNPLAN_MASK_CAUSAL;
  for (const Item& item : list.items) {
    const auto position = static_cast<size_t>(item.request);
    const bool exact = visible.exact(position);
    // The first row sees least at the end, the last row sees least at the beginning.
    const bool ends_early = causal && visible.lowest_end(position, item.row_begin) < item.kv_end;
    const bool starts_late = batch.settings.sliding_window > 0 &&
                             visible.of(position, item.row_end - 1).begin > item.kv_begin;
    const bool masked = (item.flags & ATTNPLAN_ITEM_CAUSAL_MASK) != 0;
    const bool windowed = (item.flags & ATTNPLAN_ITEM_WINDOW_MASK) != 0;
    const bool one_row = item.row_end - item.row_begin == 1 && visible.rows(position) == 1;
    // A single row ends where its request ends: what the device shortens needs no mask.
    if (ends_early && !masked && (exact || !one_row)) return "CAUSAL_MASK: " + item_words(item);
    if (exact && masked && !ends_early) return "CAUSAL_MASK without need: " + item_words(item);
    if (starts_late && !windowed) return "WINDOW_MASK: " + item_words(item);
    if (exact && windowed && !starts_late) return "WINDOW_MASK without need: " + item_words(item);
    if ((item.flags & ~3u) != 0) return "unknown flags: " + item_words(item);
  }
  return "";
}

}  // namespace attnplan::schedule
