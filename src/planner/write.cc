#include "planner/write.h"

#include <cstring>

#include "planner/sections.h"

namespace attnplan {
namespace {

constexpr size_t kAlignment = ATTNPLAN_PLAN_ALIGNMENT;
size_t align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Status write_plan(const Plan& plan, std::byte* out, size_t capacity, size_t* bytes, Error* error) {
  SectionSpec specs[kMaxSections];
  const int count = describe_sections(plan, specs);
  attnplan_section table[kMaxSections];
  size_t end = sizeof(attnplan_plan_header) + static_cast<size_t>(count) * sizeof table[0];
  for (int i = 0; i < count; ++i) {
    const SectionSpec& spec = specs[i];
    const size_t offset = align(end);
    table[i] = {spec.id,
                spec.type,
                spec.extent,
                spec.validity,
                static_cast<int64_t>(offset),
                spec.count,
                spec.count};
    if (spec.count > 0) end = offset + static_cast<size_t>(spec.bytes());
  }
  const size_t total = align(end);
  *bytes = total;
  if (out == nullptr) return Status::kOk;
  if (total > capacity) {
    return error->set(Status::kBufferTooSmall, Code::kCapacityExceeded, -1,
                      static_cast<int64_t>(total), static_cast<int64_t>(capacity),
                      "the plan takes %zu bytes, the buffer has %zu", total, capacity);
  }
  attnplan_plan_header header = plan.header;
  header.total_bytes = total;
  header.num_sections = count;
  std::memcpy(out, &header, sizeof header);
  size_t written = sizeof header + static_cast<size_t>(count) * sizeof table[0];
  std::memcpy(out + sizeof header, table, written - sizeof header);
  for (int i = 0; i < count; ++i) {
    if (specs[i].count == 0) continue;
    const auto offset = static_cast<size_t>(table[i].offset);
    std::memset(out + written, 0, offset - written);
    write_section(plan, specs[i], out + offset);
    written = offset + static_cast<size_t>(specs[i].bytes());
  }
  std::memset(out + written, 0, total - written);
  return Status::kOk;
}

}  // namespace attnplan
