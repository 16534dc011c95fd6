// The blob itself: what the format header promises to readers that never saw this library.
#include <algorithm>
#include <iterator>

#include "facts.h"

namespace attnplan::property {
namespace {

// By attnplan_section.type, as the format header's comments say; 0: no type.
constexpr int64_t kElementBytes[] = {0, 4, 8, 96, 8, 24, 16, 16, 16, 16, 32, 40, 32, 16};

int64_t element_bytes(int type) {
  return type < static_cast<int>(std::size(kElementBytes)) ? kElementBytes[type] : 0;
}

std::string check_section(const attnplan_section& section, const Buffer& plan, int64_t after) {
  const int64_t bytes = element_bytes(section.type);
  if (bytes == 0) return "an unknown type";
  if (section.count < 0 || section.count > section.capacity) return "count over capacity";
  if (section.offset % ATTNPLAN_PLAN_ALIGNMENT != 0) return "not aligned";
  const int64_t end = section.offset + section.capacity * bytes;
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
  // Behind the header: the table, then the byte ranges, then the sections.
  int64_t after = static_cast<int64_t>(header.header_bytes + table.size() * sizeof(table[0])) +
                  header.num_byte_ranges * static_cast<int64_t>(sizeof(attnplan_byte_range));
  uint64_t seen = 0;
  for (const attnplan_section& section : table) {
    const std::string where = "section " + std::to_string(section.id) + ": ";
    const std::string broken = check_section(section, plan, after);
    if (!broken.empty()) return where + broken;
    if (section.capacity > 0) {
      after = section.offset + section.capacity * element_bytes(section.type);
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
