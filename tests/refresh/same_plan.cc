#include "same_plan.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "element_bytes.h"
#include "sections.h"

namespace attnplan::refresh {
namespace {

using property::header_of;
using property::segments_of;

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
    std::string wrong = compare_bytes(refreshed, truth, *a, *b, "section " + std::to_string(id));
    if (!wrong.empty()) return wrong;
  }
  return compare_segments(refreshed, truth);
}

}  // namespace attnplan::refresh
