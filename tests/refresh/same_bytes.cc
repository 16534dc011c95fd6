// Plans compared with themselves, refreshed.
#include <algorithm>
#include <cstring>

#include "element_bytes.h"
#include "same_plan.h"
#include "sections.h"

namespace attnplan::refresh {
namespace {

using property::header_of;

const attnplan_section* table_of(const Buffer& plan) {
  return reinterpret_cast<const attnplan_section*>(plan.data() + header_of(plan).header_bytes);
}

bool has_counted_list(int32_t id) {
  return id == ATTNPLAN_SECTION_PAGE_INDICES || id == ATTNPLAN_SECTION_LOCAL ||
         id == ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST;
}

bool may_be_written(int32_t id) {
  switch (id) {
    case ATTNPLAN_SECTION_REFUSALS:
    case ATTNPLAN_SECTION_WARNINGS:
    case ATTNPLAN_SECTION_ORDER:
    case ATTNPLAN_SECTION_CHUNKS:
    case ATTNPLAN_SECTION_LAUNCH:
    case ATTNPLAN_SECTION_WORK:
    case ATTNPLAN_SECTION_WORKER_INDPTR:
    case ATTNPLAN_SECTION_MERGE_INDPTR:
    case ATTNPLAN_SECTION_MERGE_SLOTS:
      return false;
  }
  return id < ATTNPLAN_SECTION_END;
}

int64_t bytes_in_use(const attnplan_section& s) {
  return s.count * static_cast<int64_t>(element_bytes(s.type));
}

template <typename T>
std::string check_values(const Buffer& plan, int32_t id, int64_t low, int64_t high,
                         bool ascending) {
  int64_t before = low, index = 0;
  for (const T value : values<T>(plan, id)) {
    if (value < before || value > high) {
      return differs("section " + std::to_string(id), index, value, before);
    }
    if (ascending) before = value;
    ++index;
  }
  return "";
}

std::string check_items(const Buffer& plan) {
  for (const auto& item : values<attnplan_work_item>(plan, ATTNPLAN_SECTION_WORK_ITEMS)) {
    if (item.row_begin < 0 || item.row_end < item.row_begin || item.kv_begin < 0 ||
        item.kv_end < item.kv_begin) {
      return differs("work item of request", item.request, item.kv_begin, item.kv_end);
    }
  }
  return "";
}

}  // namespace

std::string compare_refreshed(const Buffer& refreshed, const Buffer& expected) {
  if (std::memcmp(refreshed.data(), expected.data(), sizeof(attnplan_plan_header)) != 0) {
    return "headers differ";
  }
  const auto differing = differing_sections(refreshed, expected);
  return differing.empty() ? "" : "section " + std::to_string(differing.front()) + " differs";
}

std::vector<int32_t> differing_sections(const Buffer& a, const Buffer& b) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < header_of(a).num_sections; ++i) {
    const attnplan_section& left = table_of(a)[i];
    const attnplan_section* right = find(b, left.id);
    if (right == nullptr) continue;
    const int64_t bytes = bytes_in_use(left);
    const bool same = left.count == right->count &&
                      (bytes == 0 || std::memcmp(a.data() + left.offset, b.data() + right->offset,
                                                 static_cast<size_t>(bytes)) == 0);
    if (!same) out.push_back(left.id);
  }
  return out;
}

std::string compare_outside(const Buffer& refreshed, const Buffer& before) {
  std::vector<bool> free(before.size(), false);
  const auto release = [&free](int64_t begin, int64_t bytes) {
    std::fill_n(free.begin() + begin, bytes, true);
  };
  for (size_t field : {offsetof(attnplan_plan_header, max_decode_query_len),
                       offsetof(attnplan_plan_header, max_extend_query_len),
                       offsetof(attnplan_plan_header, max_prefill_query_len)}) {
    release(static_cast<int64_t>(field), sizeof(int32_t));
  }
  const attnplan_plan_header& header = header_of(before);
  for (int32_t i = 0; i < header.num_sections; ++i) {
    const attnplan_section& s = table_of(before)[i];
    if (!may_be_written(s.id) || s.capacity == 0) continue;
    release(s.offset, s.capacity * static_cast<int64_t>(element_bytes(s.type)));
    if (!has_counted_list(s.id)) continue;
    const auto entry = static_cast<int64_t>(header.header_bytes + i * sizeof s);
    release(entry + static_cast<int64_t>(offsetof(attnplan_section, count)), sizeof s.count);
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (free[i] || refreshed.data()[i] == before.data()[i]) continue;
    return "byte " + std::to_string(i) + " lies outside of all sections and was written";
  }
  return "";
}

std::string check_bounds(const Buffer& plan) {
  const attnplan_plan_header& h = header_of(plan);
  const attnplan_section* pages = find(plan, ATTNPLAN_SECTION_PAGE_INDICES);
  const bool bounded = pages != nullptr && pages->capacity > 0;
  const int64_t most_pages = bounded ? pages->capacity : INT32_MAX;
  for (const std::string& wrong :
       {check_values<int32_t>(plan, ATTNPLAN_SECTION_SEQ_LENS, 0, INT32_MAX, false),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_CONTEXT_LENS, 0, INT32_MAX, false),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_ROW_REQUEST, -1, h.num_reqs - 1, false),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_ROW_POSITION, -1, INT32_MAX, false),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_PAGE_INDPTR, 0, most_pages, true),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_CHUNK_SKIP_MERGE, 0, 1, false),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, 0, h.num_reqs - 1,
                              false),
        check_values<int32_t>(plan, ATTNPLAN_SECTION_WINDOW_CU_LEN, 0, INT32_MAX, true),
        check_items(plan)}) {
    if (!wrong.empty()) return wrong;
  }
  const auto starts = values<int32_t>(plan, ATTNPLAN_SECTION_QUERY_START_LOC);
  for (const attnplan_segment& s : property::segments_of(plan)) {
    int64_t before = 0;
    for (int32_t i = 0; !starts.empty() && i <= s.req_end - s.req_begin; ++i) {
      const int64_t start = starts[static_cast<size_t>(int64_t{s.query_start_loc_begin} + i)];
      if (start < before || start > s.row_end - s.row_begin) {
        return differs("query_start_loc", i, start, before);
      }
      before = start;
    }
  }
  return "";
}

}  // namespace attnplan::refresh
