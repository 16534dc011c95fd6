#include "same_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "element_bytes.h"

namespace attnplan::refresh {
namespace {

using property::header_of;
using property::segments_of;

const attnplan_section* find(const Buffer& plan, int32_t id) {
  const auto& header = header_of(plan);
  const auto* table = reinterpret_cast<const attnplan_section*>(plan.data() + header.header_bytes);
  for (int32_t i = 0; i < header.num_sections; ++i) {
    if (table[i].id == id) return &table[i];
  }
  return nullptr;
}

template <typename T>
std::span<const T> values(const Buffer& plan, int32_t id) {
  const attnplan_section* s = find(plan, id);
  if (s == nullptr) return {};
  return {reinterpret_cast<const T*>(plan.data() + s->offset), static_cast<size_t>(s->count)};
}

std::string differs(const std::string& what, int64_t index, int64_t found, int64_t expected) {
  return what + "[" + std::to_string(index) + "] is " + std::to_string(found) + ", expected " +
         std::to_string(expected);
}

// Elements that a plan of this shape has written, those of a graph's pads included.
int64_t written(const Buffer& plan, const attnplan_section& s) {
  const attnplan_plan_header& h = header_of(plan);
  const auto segments = segments_of(plan);
  const int64_t begin = segments.empty() ? 0 : segments.front().req_begin;
  const int64_t graph_end = h.graph_width > 0 ? begin + h.graph_requests : 0;
  const int64_t requests = std::max<int64_t>(h.num_reqs, graph_end);
  const bool graph = (h.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0;
  switch (s.id) {
    case ATTNPLAN_SECTION_SEQ_LENS:
    case ATTNPLAN_SECTION_CONTEXT_LENS:
    case ATTNPLAN_SECTION_LAST_PAGE_LEN:
      return requests;
    case ATTNPLAN_SECTION_PAGE_INDPTR:
      return requests + 1;
    case ATTNPLAN_SECTION_PAGE_TABLE:
      return requests * h.page_table_width;
    case ATTNPLAN_SECTION_ROW_REQUEST:
    case ATTNPLAN_SECTION_ROW_POSITION:
    case ATTNPLAN_SECTION_SLOTS:
    case ATTNPLAN_SECTION_CONTEXT_PARALLEL:
      return graph ? std::max(h.graph_rows, h.num_rows) : h.num_rows;
    case ATTNPLAN_SECTION_QUERY_START_LOC: {
      if (h.graph_width == 0) return s.count;
      const int64_t first_pad = segments.empty() ? 0 : segments.back().req_end;
      return s.count + std::max<int64_t>(requests - first_pad, 0) + (segments.empty() ? 1 : 0);
    }
    case ATTNPLAN_SECTION_PAGE_INDICES: {
      const attnplan_section* indptr = find(plan, ATTNPLAN_SECTION_PAGE_INDPTR);
      if (indptr == nullptr) return s.count;  // then nothing says how many pads there are
      return values<int32_t>(plan, indptr->id).data()[requests];
    }
    default:
      return s.count;
  }
}

std::string compare_bytes(const Buffer& refreshed, const Buffer& truth, const attnplan_section& a,
                          const attnplan_section& b, const std::string& name) {
  if (a.count != b.count) return differs(name + " count", 0, a.count, b.count);
  const int64_t size = attnplan::element_bytes(a.type);
  const int64_t count = written(truth, b);
  if (written(refreshed, a) != count) {
    return differs(name + " elements", 0, written(refreshed, a), count);
  }
  const uint8_t* left = refreshed.data() + a.offset;
  const uint8_t* right = truth.data() + b.offset;
  for (int64_t i = 0; i < count; ++i) {
    if (std::memcmp(left + i * size, right + i * size, static_cast<size_t>(size)) == 0) continue;
    int32_t found = 0, expected = 0;
    std::memcpy(&found, left + i * size, sizeof found);
    std::memcpy(&expected, right + i * size, sizeof expected);
    return differs(name, i, found, expected);
  }
  return "";
}

std::string compare_segments(const Buffer& refreshed, const Buffer& truth) {
  const auto left = segments_of(refreshed), right = segments_of(truth);
  for (size_t i = 0; i < left.size(); ++i) {
    const attnplan_segment &a = left[i], &b = right[i];
    const std::pair<int64_t, int64_t> figures[] = {{a.max_query_len, b.max_query_len},
                                                   {a.min_query_len, b.min_query_len},
                                                   {a.max_seq_len, b.max_seq_len},
                                                   {a.min_seq_len, b.min_seq_len},
                                                   {a.max_context_len, b.max_context_len},
                                                   {a.min_context_len, b.min_context_len},
                                                   {a.num_live, b.num_live},
                                                   {a.sum_seq_lens, b.sum_seq_lens},
                                                   {a.sum_context_lens, b.sum_context_lens}};
    for (size_t f = 0; f < std::size(figures); ++f) {
      if (figures[f].first == figures[f].second) continue;
      return differs("segments[" + std::to_string(i) + "] figure " + std::to_string(f), 0,
                     figures[f].first, figures[f].second);
    }
  }
  return "";
}

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

bool same_shape(const Buffer& refreshed, const Buffer& truth) {
  const attnplan_plan_header &a = header_of(refreshed), &b = header_of(truth);
  const auto key = [](const attnplan_plan_header& h) {
    return std::tuple(h.num_segments, h.num_reqs, h.num_rows, h.graph_kind, h.graph_rows,
                      h.graph_requests, h.graph_width, h.page_table_width, h.flags);
  };
  if (key(a) != key(b)) return false;
  const auto left = segments_of(refreshed), right = segments_of(truth);
  for (size_t i = 0; i < left.size(); ++i) {
    const auto place = [](const attnplan_segment& s) {
      return std::tuple(s.route, s.kernel, s.req_begin, s.req_end, s.row_begin, s.row_end);
    };
    if (place(left[i]) != place(right[i])) return false;
  }
  return std::ranges::equal(values<int32_t>(refreshed, ATTNPLAN_SECTION_ORDER),
                            values<int32_t>(truth, ATTNPLAN_SECTION_ORDER));
}

std::string compare_sections(const Buffer& refreshed, const Buffer& truth) {
  for (int32_t id = ATTNPLAN_SECTION_QUERY_START_LOC; id <= ATTNPLAN_SECTION_CONTEXT_PARALLEL;
       ++id) {
    const attnplan_section *a = find(refreshed, id), *b = find(truth, id);
    if ((a == nullptr) != (b == nullptr)) return "a section is missing";
    // How context is cut is the host's choice; skip_merge is not.
    const bool cut = ATTNPLAN_SECTION_CHUNKS <= id && id <= ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST;
    if (a == nullptr || (cut && id != ATTNPLAN_SECTION_CHUNK_SKIP_MERGE)) continue;
    const std::string wrong =
        compare_bytes(refreshed, truth, *a, *b, "section " + std::to_string(id));
    if (!wrong.empty()) return wrong;
  }
  return compare_segments(refreshed, truth);
}

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
      const attnplan_chunk& chunk = list[static_cast<size_t>(set.chunk_begin + k)];
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
    if (item.kv_end <= begin) return "nobody sees any of: " + words(item);
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
    const std::string wrong = check_tile(tile, known, rules);
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
