// The blob itself: what the format header promises to readers that never saw this library.
#include <algorithm>

#include "facts.h"

namespace attnplan::property {
namespace {

size_t element_bytes(int type) {
  switch (type) {
    case ATTNPLAN_TYPE_INT32:
      return 4;
    case ATTNPLAN_TYPE_INT64:
      return 8;
    case ATTNPLAN_TYPE_SEGMENT:
      return 96;
    case ATTNPLAN_TYPE_REFUSAL:
      return 8;
    case ATTNPLAN_TYPE_WARNING:
      return 24;
    default:
      return 0;
  }
}

std::string check_section(const attnplan_section& section, const Buffer& plan, int64_t after) {
  const size_t bytes = element_bytes(section.type);
  if (bytes == 0) return "an unknown type";
  if (section.count < 0 || section.count > section.capacity) return "count over capacity";
  if (section.offset % ATTNPLAN_PLAN_ALIGNMENT != 0) return "not aligned";
  const int64_t end = section.offset + section.capacity * static_cast<int64_t>(bytes);
  if (section.offset < after || end > static_cast<int64_t>(plan.size())) return "out of place";
  return "";
}

}  // namespace

std::string check_format(const Buffer& plan) {
  attnplan_plan_header header;
  std::memcpy(&header, plan.data(), sizeof(header));
  if (header.magic != ATTNPLAN_PLAN_MAGIC || header.major != ATTNPLAN_PLAN_MAJOR) return "magic";
  if (header.header_bytes != sizeof(header)) return "header_bytes";
  if (header.total_bytes != plan.size()) return "total_bytes";
  std::vector<attnplan_section> table(static_cast<size_t>(header.num_sections));
  std::memcpy(table.data(), plan.data() + header.header_bytes,
              table.size() * sizeof(attnplan_section));
  std::sort(table.begin(), table.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  int64_t after = static_cast<int64_t>(header.header_bytes + table.size() * sizeof(table[0]));
  uint64_t seen = 0;
  for (const attnplan_section& section : table) {
    const std::string where = "section " + std::to_string(section.id) + ": ";
    const std::string broken = check_section(section, plan, after);
    if (!broken.empty()) return where + broken;
    if (section.capacity > 0) {
      after = section.offset + section.capacity * static_cast<int64_t>(element_bytes(section.type));
    }
    if ((seen >> section.id & 1u) != 0) return where + "there twice";
    seen |= uint64_t{1} << section.id;
  }
  for (int id : {ATTNPLAN_SECTION_SEGMENTS, ATTNPLAN_SECTION_REFUSALS, ATTNPLAN_SECTION_WARNINGS}) {
    if ((seen >> id & 1u) == 0) return "section " + std::to_string(id) + " is always there";
  }
  return "";
}

}  // namespace attnplan::property
