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

std::string check_model(const oracle::Batch& batch, const Buffer& plan) {
  const attnplan_plan_header& header = header_of(plan);
  const attnplan_config& config = batch.config;
  const auto given = [](int32_t value, int32_t by_default) {
    return value != 0 ? value : by_default;
  };
  const int32_t head_size = given(config.head_size, 128);
  const struct {
    const char* name;
    int32_t found;
    int32_t expected;
  } figures[] = {
      {"num_q_heads", header.num_q_heads, given(config.num_q_heads, 16)},
      {"num_kv_heads", header.num_kv_heads, given(config.num_kv_heads, 1)},
      {"head_size", header.head_size, head_size},
      {"v_head_size", header.v_head_size, given(config.v_head_size, head_size)},
      {"mask", header.mask, static_cast<int32_t>(config.mask)},
      {"sliding_window", header.sliding_window, config.sliding_window},
      {"num_blocks", header.num_blocks, batch.kv_cache ? batch.kv_cache->num_blocks : 0},
      {"block_size", header.block_size, batch.kv_cache ? batch.kv_cache->block_size : 0},
      {"layout", header.layout, batch.kv_cache ? static_cast<int32_t>(batch.kv_cache->layout) : 0},
      {"cache_flags", static_cast<int32_t>(header.cache_flags),
       batch.kv_cache ? static_cast<int32_t>(batch.kv_cache->flags) : 0},
  };
  for (const auto& f : figures) {
    if (f.found != f.expected) return std::string("header: ") + f.name;
  }
  return "";
}

}  // namespace attnplan::property
