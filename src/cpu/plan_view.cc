#include "cpu/plan_view.h"

#include <vector>

#include "attnplan.h"

namespace attnplan::cpu {
namespace {

bool aligned(const void* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// The elements in use of one section, or false where they do not lie inside the blob.
template <typename T>
bool elements(const std::byte* plan, size_t bytes, const attnplan_section& section,
              std::span<const T>& out) {
  if (section.count < 0 || section.offset < 0) return false;
  const auto offset = static_cast<uint64_t>(section.offset);
  const auto count = static_cast<uint64_t>(section.count);
  if (offset > bytes || count > (bytes - offset) / sizeof(T)) return false;
  if (!aligned(plan + offset, alignof(T))) return false;
  out = {reinterpret_cast<const T*>(plan + offset), static_cast<size_t>(count)};
  return true;
}

bool read_section(const std::byte* plan, size_t bytes, const attnplan_section& section,
                  PlanView& view) {
  const bool host = section.validity == ATTNPLAN_VALIDITY_EXACT;
  switch (section.id) {
    case ATTNPLAN_SECTION_SEGMENTS:
      return section.type == ATTNPLAN_TYPE_SEGMENT && elements(plan, bytes, section, view.segments);
    case ATTNPLAN_SECTION_WARNINGS:
      return section.type == ATTNPLAN_TYPE_WARNING && elements(plan, bytes, section, view.warnings);
    case ATTNPLAN_SECTION_ORDER:
      return section.type == ATTNPLAN_TYPE_INT32 && elements(plan, bytes, section, view.order);
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      return !host || (section.type == ATTNPLAN_TYPE_INT32 &&
                       elements(plan, bytes, section, view.query_start_loc));
    case ATTNPLAN_SECTION_SEQ_LENS:
      return !host ||
             (section.type == ATTNPLAN_TYPE_INT32 && elements(plan, bytes, section, view.seq_lens));
    case ATTNPLAN_SECTION_ROW_REQUEST:
      return !host || (section.type == ATTNPLAN_TYPE_INT32 &&
                       elements(plan, bytes, section, view.row_request));
    case ATTNPLAN_SECTION_ROW_POSITION:
      return !host || (section.type == ATTNPLAN_TYPE_INT32 &&
                       elements(plan, bytes, section, view.row_position));
    default:
      return true;
  }
}

bool permutation(std::span<const int32_t> order, int32_t n) {
  if (order.size() != static_cast<size_t>(n)) return false;
  std::vector<bool> seen(order.size(), false);
  for (const int32_t request : order) {
    if (request < 0 || request >= n || seen[request]) return false;
    seen[request] = true;
  }
  return true;
}

}  // namespace

std::optional<PlanView> read_plan(const void* plan, size_t plan_bytes, std::string& problem) {
  const auto refuse = [&problem](const char* why) {
    problem = why;
    return std::nullopt;
  };
  const auto* base = static_cast<const std::byte*>(plan);
  const auto* header = static_cast<const attnplan_plan_header*>(plan);
  if (plan == nullptr || !aligned(plan, alignof(attnplan_plan_header)) ||
      plan_bytes < sizeof(attnplan_plan_header) || header->magic != ATTNPLAN_PLAN_MAGIC) {
    return refuse("not a plan");
  }
  if (header->major != ATTNPLAN_PLAN_MAJOR) return refuse("a plan of another format version");
  if (header->header_bytes < sizeof(attnplan_plan_header) || header->total_bytes > plan_bytes) {
    return refuse("a plan that is cut short");
  }
  const attnplan_section table{0,
                               0,
                               0,
                               0,
                               static_cast<int64_t>(header->header_bytes),
                               header->num_sections,
                               header->num_sections};
  std::span<const attnplan_section> sections;
  if (!elements(base, plan_bytes, table, sections)) return refuse("a section table out of bounds");
  PlanView view;
  view.header = header;
  for (const attnplan_section& section : sections) {
    if (!read_section(base, plan_bytes, section, view)) return refuse("a section out of bounds");
  }
  if (header->num_reqs < 0 || header->num_rows < 0) return refuse("negative counts");
  if (header->num_segments != static_cast<int64_t>(view.segments.size())) {
    return refuse("header and segments disagree");
  }
  if ((header->flags & ATTNPLAN_PLAN_SORTED) == 0) {
    view.order = {};
  } else if (!permutation(view.order, header->num_reqs)) {
    return refuse("an order that is no permutation");
  }
  return view;
}

}  // namespace attnplan::cpu
