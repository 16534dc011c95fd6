#include "work_list.h"

#include <algorithm>

namespace attnplan::schedule {
namespace {

using property::Buffer;
using property::section_of;

template <typename T>
bool read(const Buffer& plan, int32_t id, int32_t type, std::span<const T>* out) {
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  if (attnplan_plan_get_section(plan.data(), plan.size(), id, &view, nullptr) != ATTNPLAN_OK) {
    return false;
  }
  *out = {static_cast<const T*>(view.data), static_cast<size_t>(view.count)};
  return view.type == type;
}

// CSR: starts at 0, never decreases, ends at `last`.
bool is_indptr(std::span<const int32_t> indptr, size_t entries, size_t last) {
  return indptr.size() == entries && indptr.front() == 0 &&
         std::is_sorted(indptr.begin(), indptr.end()) &&
         indptr.back() == static_cast<int64_t>(last);
}

}  // namespace

std::span<const attnplan_work_item> WorkList::items_of(int32_t worker) const {
  const auto begin = static_cast<size_t>(worker_indptr[static_cast<size_t>(worker)]);
  const auto end = static_cast<size_t>(worker_indptr[static_cast<size_t>(worker) + 1]);
  return items.subspan(begin, end - begin);
}

std::span<const int32_t> WorkList::slots_of(size_t tile) const {
  const auto begin = static_cast<size_t>(merge_indptr[tile]);
  return merge_slots.subspan(begin, static_cast<size_t>(merge_indptr[tile + 1]) - begin);
}

std::string read_work_list(const Buffer& plan, WorkList* list) {
  std::span<const attnplan_work> work;
  if (!read(plan, ATTNPLAN_SECTION_WORK, ATTNPLAN_TYPE_WORK, &work) || work.size() != 1) {
    return "no section WORK";
  }
  list->work = work[0];
  if (!read(plan, ATTNPLAN_SECTION_WORK_ITEMS, ATTNPLAN_TYPE_WORK_ITEM, &list->items) ||
      !read(plan, ATTNPLAN_SECTION_WORKER_INDPTR, ATTNPLAN_TYPE_INT32, &list->worker_indptr) ||
      !read(plan, ATTNPLAN_SECTION_MERGE_TILES, ATTNPLAN_TYPE_MERGE_TILE, &list->merge_tiles) ||
      !read(plan, ATTNPLAN_SECTION_MERGE_INDPTR, ATTNPLAN_TYPE_INT32, &list->merge_indptr) ||
      !read(plan, ATTNPLAN_SECTION_MERGE_SLOTS, ATTNPLAN_TYPE_INT32, &list->merge_slots)) {
    return "a section of the work list is missing";
  }
  if ((property::header_of(plan).flags & ATTNPLAN_PLAN_SORTED) != 0) {
    list->order = property::int32_section(plan, ATTNPLAN_SECTION_ORDER);
  }
  const auto workers = static_cast<size_t>(std::max(list->work.workers, 0));
  if (!is_indptr(list->worker_indptr, workers + 1, list->items.size())) return "WORKER_INDPTR";
  if (!is_indptr(list->merge_indptr, list->merge_tiles.size() + 1, list->merge_slots.size())) {
    return "MERGE_INDPTR";
  }
  return "";
}

}  // namespace attnplan::schedule
