// Read access to a plan blob (capi/attnplan_plan_format.h). Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "attnplan_plan_format.h"

namespace attnplan {

class PlanView {
 public:
  // False where the bytes are no plan of this format version, or where the section table or a
  // section reaches beyond them. Values inside the sections are not judged.
  static bool open(const void* data, size_t bytes, PlanView* view) {
    if (data == nullptr || bytes < sizeof(attnplan_plan_header)) return false;
    if (reinterpret_cast<uintptr_t>(data) % alignof(attnplan_plan_header) != 0) return false;
    view->base_ = static_cast<const std::byte*>(data);
    const attnplan_plan_header& h = view->header();
    if (h.magic != ATTNPLAN_PLAN_MAGIC || h.major != ATTNPLAN_PLAN_MAJOR) return false;
    if (h.header_bytes < sizeof h || h.header_bytes % alignof(attnplan_section) != 0) return false;
    if (h.total_bytes > bytes || h.num_sections < 0) return false;
    if (h.num_byte_ranges < 0) return false;
    const uint64_t table_end =
        h.header_bytes + static_cast<uint64_t>(h.num_sections) * sizeof(attnplan_section) +
        static_cast<uint64_t>(h.num_byte_ranges) * sizeof(attnplan_byte_range);
    if (table_end > h.total_bytes) return false;
    for (const attnplan_section& section : view->sections()) {
      if (!fits(section, table_end, h.total_bytes)) return false;
    }
    return static_cast<size_t>(h.num_segments) == view->segments().size();
  }

  const attnplan_plan_header& header() const {
    return *reinterpret_cast<const attnplan_plan_header*>(base_);
  }
  std::span<const attnplan_section> sections() const {
    return {reinterpret_cast<const attnplan_section*>(base_ + header().header_bytes),
            static_cast<size_t>(header().num_sections)};
  }
  // What has to be copied to the device.
  std::span<const attnplan_byte_range> byte_ranges() const {
    return {reinterpret_cast<const attnplan_byte_range*>(base_ + header().header_bytes +
                                                         sections().size_bytes()),
            static_cast<size_t>(header().num_byte_ranges)};
  }
  // Bytes of header, section table and byte ranges.
  int64_t front_bytes() const {
    return static_cast<int64_t>(header().header_bytes + sections().size_bytes() +
                                byte_ranges().size_bytes());
  }
  const attnplan_section* find(int32_t id) const {
    for (const attnplan_section& section : sections()) {
      if (section.id == id) return &section;
    }
    return nullptr;
  }
  const std::byte* data(const attnplan_section& section) const { return base_ + section.offset; }

  // The elements of a section; empty where the plan has none or it is of another type.
  template <typename T>
  std::span<const T> values(int32_t id) const {
    const attnplan_section* section = find(id);
    if (section == nullptr || section->count == 0 || section->type != type_of(T{})) return {};
    return {reinterpret_cast<const T*>(data(*section)), static_cast<size_t>(section->count)};
  }
  std::span<const attnplan_segment> segments() const {
    return values<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS);
  }
  std::span<const attnplan_refusal> refusals() const {
    return values<attnplan_refusal>(ATTNPLAN_SECTION_REFUSALS);
  }
  std::span<const attnplan_warning> warnings() const {
    return values<attnplan_warning>(ATTNPLAN_SECTION_WARNINGS);
  }
  // Plan position -> request of the step; empty where both are the same.
  std::span<const int32_t> order() const { return values<int32_t>(ATTNPLAN_SECTION_ORDER); }

 private:
  static constexpr uint16_t type_of(int32_t) { return ATTNPLAN_TYPE_INT32; }
  static constexpr uint16_t type_of(int64_t) { return ATTNPLAN_TYPE_INT64; }
  static constexpr uint16_t type_of(attnplan_segment) { return ATTNPLAN_TYPE_SEGMENT; }
  static constexpr uint16_t type_of(attnplan_refusal) { return ATTNPLAN_TYPE_REFUSAL; }
  static constexpr uint16_t type_of(attnplan_warning) { return ATTNPLAN_TYPE_WARNING; }
  static constexpr uint16_t type_of(attnplan_chunk_set) { return ATTNPLAN_TYPE_CHUNK_SET; }
  static constexpr uint16_t type_of(attnplan_chunk) { return ATTNPLAN_TYPE_CHUNK; }
  static constexpr uint16_t type_of(attnplan_window) { return ATTNPLAN_TYPE_WINDOW; }
  static constexpr uint16_t type_of(attnplan_local_batch) { return ATTNPLAN_TYPE_LOCAL_BATCH; }
  static constexpr uint16_t type_of(attnplan_launch) { return ATTNPLAN_TYPE_LAUNCH; }
  static constexpr uint16_t type_of(attnplan_work) { return ATTNPLAN_TYPE_WORK; }
  static constexpr uint16_t type_of(attnplan_work_item) { return ATTNPLAN_TYPE_WORK_ITEM; }
  static constexpr uint16_t type_of(attnplan_merge_tile) { return ATTNPLAN_TYPE_MERGE_TILE; }

 public:
  // 0 for a type of a later version.
  static int64_t element_bytes(uint16_t type) {
    switch (type) {
      case ATTNPLAN_TYPE_INT32:
        return sizeof(int32_t);
      case ATTNPLAN_TYPE_INT64:
        return sizeof(int64_t);
      case ATTNPLAN_TYPE_SEGMENT:
        return sizeof(attnplan_segment);
      case ATTNPLAN_TYPE_REFUSAL:
        return sizeof(attnplan_refusal);
      case ATTNPLAN_TYPE_WARNING:
        return sizeof(attnplan_warning);
      case ATTNPLAN_TYPE_CHUNK_SET:
        return sizeof(attnplan_chunk_set);
      case ATTNPLAN_TYPE_CHUNK:
        return sizeof(attnplan_chunk);
      case ATTNPLAN_TYPE_WINDOW:
        return sizeof(attnplan_window);
      case ATTNPLAN_TYPE_LOCAL_BATCH:
        return sizeof(attnplan_local_batch);
      case ATTNPLAN_TYPE_LAUNCH:
        return sizeof(attnplan_launch);
      case ATTNPLAN_TYPE_WORK:
        return sizeof(attnplan_work);
      case ATTNPLAN_TYPE_WORK_ITEM:
        return sizeof(attnplan_work_item);
      case ATTNPLAN_TYPE_MERGE_TILE:
        return sizeof(attnplan_merge_tile);
    }
    return 0;
  }

 private:
  static bool fits(const attnplan_section& s, uint64_t begin, uint64_t total) {
    const auto size = static_cast<uint64_t>(element_bytes(s.type));
    if (s.count < 0 || s.capacity < s.count || s.offset < 0) return false;
    if (s.capacity == 0) return true;
    if (size == 0) return true;  // a type of a later version: never read
    const auto offset = static_cast<uint64_t>(s.offset);
    if (offset < begin || offset > total || offset % ATTNPLAN_PLAN_ALIGNMENT != 0) return false;
    return static_cast<uint64_t>(s.capacity) <= (total - offset) / size;
  }

  const std::byte* base_ = nullptr;
};

}  // namespace attnplan
