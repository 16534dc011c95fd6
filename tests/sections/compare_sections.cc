#include "compare_sections.h"

#include <algorithm>
#include <cstring>

namespace attnplan::sections_test {
namespace {

using oracle::NaiveList;
using property::Buffer;

struct Type {
  int64_t bytes;
  std::vector<int> fields;  // bytes of each
};

const Type& type_of(int32_t type) {
  static const Type kInt32 = {4, {4}}, kInt64 = {8, {8}}, kFourInts = {16, {4, 4, 4, 4}},
                    kWindow = {16, {4, 4, 8}}, kLaunch = {32, {4, 4, 4, 4, 4, 4, 8}};
  switch (type) {
    case ATTNPLAN_TYPE_INT64:
      return kInt64;
    case ATTNPLAN_TYPE_CHUNK_SET:
    case ATTNPLAN_TYPE_CHUNK:
    case ATTNPLAN_TYPE_LOCAL_BATCH:
      return kFourInts;
    case ATTNPLAN_TYPE_WINDOW:
      return kWindow;
    case ATTNPLAN_TYPE_LAUNCH:
      return kLaunch;
    default:
      return kInt32;
  }
}

std::vector<int64_t> read_elements(const void* data, int32_t type_id, int64_t count) {
  const Type& type = type_of(type_id);
  std::vector<int64_t> out;
  const auto* at = static_cast<const uint8_t*>(data);
  for (int64_t i = 0; i < count; ++i) {
    for (int field : type.fields) {
      int32_t narrow = 0;
      int64_t wide = 0;
      std::memcpy(field == 4 ? static_cast<void*>(&narrow) : &wide, at, static_cast<size_t>(field));
      out.push_back(field == 4 ? narrow : wide);
      at += field;
    }
  }
  return out;
}

std::string differs(const std::string& what, int64_t naive, int64_t library) {
  return what + ": naive " + std::to_string(naive) + ", library " + std::to_string(library);
}

std::string compare_values(const std::string& name, const std::vector<int64_t>& naive,
                           const std::vector<int64_t>& library) {
  if (naive.size() != library.size()) {
    return differs(name + " values", static_cast<int64_t>(naive.size()),
                   static_cast<int64_t>(library.size()));
  }
  for (size_t i = 0; i < naive.size(); ++i) {
    if (naive[i] == oracle::kAnything) continue;
    const bool unknown = naive[i] == oracle::kOnlyTheDeviceKnows;
    // Any negative number stands for "no slot, no page".
    if (naive[i] < 0 && !unknown && library[i] < 0) continue;
    if ((unknown ? -1 : naive[i]) != library[i]) {
      return differs(name + "[" + std::to_string(i) + "]" + (unknown ? " (device)" : ""),
                     unknown ? -1 : naive[i], library[i]);
    }
  }
  return "";
}

std::string compare_list(int32_t id, const NaiveList& naive, const Buffer& plan) {
  const std::string name = section_name(id);
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  if (attnplan_plan_get_section(plan.data(), plan.size(), id, &view, nullptr) != ATTNPLAN_OK) {
    return name + " is not there";
  }
  if (view.type != naive.type) return differs(name + " type", naive.type, view.type);
  if (view.extent != naive.extent) return differs(name + " extent", naive.extent, view.extent);
  if (view.validity != naive.validity) {
    return differs(name + " validity", naive.validity, view.validity);
  }
  if (view.count > view.capacity) return name + " counts more than it holds";
  return compare_values(name, naive.values, flatten(view));
}

bool was_asked_for(int32_t id, const oracle::NaiveSectionsResult& naive) {
  return naive.lists.count(id) != 0;
}

// Sections nobody asked for cost time and memory.
std::string find_uninvited(const oracle::NaiveSectionsResult& naive, const Buffer& plan) {
  for (int32_t id = ATTNPLAN_SECTION_QUERY_START_LOC; id <= ATTNPLAN_SECTION_LAUNCH; ++id) {
    attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
    const attnplan_status status =
        attnplan_plan_get_section(plan.data(), plan.size(), id, &view, nullptr);
    if (status == ATTNPLAN_OK && !was_asked_for(id, naive)) {
      return std::string(section_name(id)) + " is there uninvited";
    }
  }
  return "";
}

}  // namespace

const char* section_name(int32_t section) {
  static const char* const kNames[] = {
      "query_start_loc", "seq_lens",     "context_lens",  "row_request", "row_position",
      "page_indptr",     "page_indices", "last_page_len", "page_table",  "slots",
      "chunks",          "chunk_list",   "chunk_cu_lens", "skip_merge",  "token_to_request",
      "window",          "window_start", "window_cu_len", "local",       "context_parallel",
      "launch"};
  return kNames[section - ATTNPLAN_SECTION_QUERY_START_LOC];
}

std::vector<int64_t> flatten(const attnplan_section_view& view) {
  return read_elements(view.data, view.type, view.count);
}

std::string first_difference(const oracle::NaiveSectionsResult& naive, const Buffer& plan) {
  for (const auto& [id, list] : naive.lists) {
    const std::string wrong = compare_list(id, list, plan);
    if (!wrong.empty()) return wrong;
  }
  const bool table = was_asked_for(ATTNPLAN_SECTION_PAGE_TABLE, naive);
  const int64_t width = property::header_of(plan).page_table_width;
  if (table && width != naive.page_table_width) {
    return differs("page_table_width", naive.page_table_width, width);
  }
  return find_uninvited(naive, plan);
}

}  // namespace attnplan::sections_test
