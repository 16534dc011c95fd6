#include "planner/write.h"

#include <algorithm>
#include <cstring>

#include "planner/sections.h"

namespace attnplan {
namespace {

constexpr size_t kAlignment = ATTNPLAN_PLAN_ALIGNMENT;
size_t align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

size_t bytes_of(const SectionSpec& spec, int64_t elements) {
  return static_cast<size_t>(elements) * static_cast<size_t>(spec.element_bytes);
}

// header | section table | byte ranges | sections
struct BlobLayout {
  SectionList sections;
  attnplan_section table[SectionList::kMax];
  attnplan_byte_range ranges[SectionList::kMax + 1];
  int num_ranges = 0;
  size_t front = 0;  // bytes before the first section
  size_t total = 0;

  void place(bool fixed) {
    const auto count = static_cast<size_t>(sections.size());
    const size_t most_ranges = fixed ? count + 1 : 1;
    front = sizeof(attnplan_plan_header) + count * sizeof table[0] + most_ranges * sizeof ranges[0];
    size_t end = front;
    int i = 0;
    for (SectionSpec& spec : sections) {
      if (!fixed) spec.capacity = spec.used;
      const size_t offset = align(end);
      table[i++] = {
          spec.id,    spec.type,    spec.extent, spec.validity, static_cast<int64_t>(offset),
          spec.count, spec.capacity};
      if (spec.capacity > 0) end = offset + bytes_of(spec, spec.capacity);
    }
    total = align(end);
  }

  // What has to be copied: all of it, or under a fixed layout the part of each section in use,
  // neighbours joined.
  void find_ranges(bool fixed) {
    if (!fixed) {
      ranges[num_ranges++] = {0, static_cast<int64_t>(total)};
      return;
    }
    ranges[num_ranges++] = {0, static_cast<int64_t>(align(front))};
    int i = 0;
    for (const SectionSpec& spec : sections) {
      const int64_t offset = table[i++].offset;
      if (spec.used == 0) continue;
      const auto end =
          static_cast<int64_t>(align(static_cast<size_t>(offset) + bytes_of(spec, spec.used)));
      attnplan_byte_range& last = ranges[num_ranges - 1];
      if (last.offset + last.bytes == offset) {
        last.bytes = end - last.offset;
      } else {
        ranges[num_ranges++] = {offset, end - offset};
      }
    }
  }
};

Status check_capacities(const Plan& plan, BlobLayout& layout, bool fixed, Error* error) {
  for (const SectionSpec& spec : layout.sections) {
    if (!fixed || spec.used <= spec.capacity) continue;
    return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, spec.used, spec.capacity,
                      "section %d takes %lld elements, the fixed layout has room for %lld", spec.id,
                      static_cast<long long>(spec.used), static_cast<long long>(spec.capacity));
  }
  const int64_t limit = plan.state->config.limits.max_sections_bytes;
  if (limit > 0 && layout.total > static_cast<size_t>(limit)) {
    return error->set(Status::kPlanError, Code::kCapacityExceeded, -1,
                      static_cast<int64_t>(layout.total), limit,
                      "the plan takes %zu bytes, beyond max_sections_bytes %lld", layout.total,
                      static_cast<long long>(limit));
  }
  return Status::kOk;
}

void write_section(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  if (spec.id < ATTNPLAN_SECTION_QUERY_START_LOC) return write_records(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_PAGE_INDPTR) return write_requests(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_CHUNKS) return write_pages(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_WINDOW) return write_chunks(plan, spec, out);
  if (spec.id < ATTNPLAN_SECTION_CONTEXT_PARALLEL) return write_windows(plan, spec, out);
  if (spec.id == ATTNPLAN_SECTION_CONTEXT_PARALLEL) return write_requests(plan, spec, out);
  if (spec.id == ATTNPLAN_SECTION_LAUNCH) return write_launch(plan, spec, out);
  write_work(plan, spec, out);
}

void write_front(const Plan& plan, const BlobLayout& layout, int num_sections, std::byte* out) {
  attnplan_plan_header header = plan.header;
  header.total_bytes = layout.total;
  header.num_sections = num_sections;
  header.num_byte_ranges = layout.num_ranges;
  std::memcpy(out, &header, sizeof header);
  size_t at = sizeof header;
  const size_t table_bytes = static_cast<size_t>(num_sections) * sizeof layout.table[0];
  std::memcpy(out + at, layout.table, table_bytes);
  at += table_bytes;
  const size_t range_bytes = static_cast<size_t>(layout.num_ranges) * sizeof layout.ranges[0];
  std::memcpy(out + at, layout.ranges, range_bytes);
  at += range_bytes;
  std::memset(out + at, 0, align(layout.front) - at);
}

}  // namespace

Status write_plan(const Plan& plan, std::byte* out, size_t capacity, size_t* bytes, Error* error) {
  const bool fixed = plan.state->fixed_layout;
  BlobLayout layout;
  describe_sections(&plan, *plan.state, &layout.sections);
  layout.place(fixed);
  if (fixed || plan.state->config.limits.max_sections_bytes > 0) {
    const Status status = check_capacities(plan, layout, fixed, error);
    if (status != Status::kOk) return status;
  }
  *bytes = layout.total;
  if (out == nullptr) return Status::kOk;
  if (layout.total > capacity) {
    return error->set(Status::kBufferTooSmall, Code::kCapacityExceeded, -1,
                      static_cast<int64_t>(layout.total), static_cast<int64_t>(capacity),
                      "the plan takes %zu bytes, the buffer has %zu", layout.total, capacity);
  }
  layout.find_ranges(fixed);
  write_front(plan, layout, layout.sections.size(), out);
  int i = 0;
  for (const SectionSpec& spec : layout.sections) {
    const auto offset = static_cast<size_t>(layout.table[i++].offset);
    if (spec.used == 0) continue;
    const size_t used = bytes_of(spec, spec.used);
    write_section(plan, spec, out + offset);
    std::memset(out + offset + used, 0, align(offset + used) - (offset + used));
  }
  return Status::kOk;
}

size_t plan_bound(const Planner::State& state) {
  BlobLayout layout;
  describe_sections(nullptr, state, &layout.sections);
  layout.place(true);
  return layout.total;
}

}  // namespace attnplan
