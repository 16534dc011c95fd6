// Header, section table and byte ranges: what a reader needs before it may look at anything else.
#include "planner/section_shapes.h"
#include "planner/verify_checks.h"

namespace attnplan {
namespace {

constexpr Place kHeader{"header"};
constexpr Place kTable{"section table"};

bool check_sizes(const attnplan_plan_header& h, size_t plan_bytes, Checks* checks) {
  const auto bytes = static_cast<int64_t>(plan_bytes);
  const auto total = static_cast<int64_t>(h.total_bytes);
  constexpr int64_t kHeaderBytes = sizeof(attnplan_plan_header);
  if (!checks->is(kHeader, "magic", h.magic, ATTNPLAN_PLAN_MAGIC) ||
      !checks->is(kHeader, "major version", h.major, ATTNPLAN_PLAN_MAJOR) ||
      !checks->in(kHeader, "total_bytes", total, kHeaderBytes, bytes) ||
      !checks->in(kHeader, "header_bytes", h.header_bytes, kHeaderBytes, total) ||
      !checks->is(kHeader, "header_bytes modulo 8", h.header_bytes % 8, 0)) {
    return false;
  }
  constexpr int64_t kSection = sizeof(attnplan_section), kRange = sizeof(attnplan_byte_range);
  const int64_t left = total - h.header_bytes;
  return checks->in(kHeader, "num_sections", h.num_sections, 0, left / kSection) &&
         checks->in(kHeader, "num_byte_ranges", h.num_byte_ranges, 0,
                    (left - h.num_sections * kSection) / kRange);
}

// Where a section lies and what it is. Ids that are not known may be anything; they are not read.
bool check_entry(const attnplan_section& s, const SectionShape* shape, int64_t* end, int64_t total,
                 Checks* checks) {
  const Place place = shape != nullptr ? at(s.id) : Place{"section", s.id};
  if (shape != nullptr && (!checks->is(place, "type", s.type, shape->type) ||
                           !checks->is(place, "extent", s.extent, shape->extent))) {
    return false;
  }
  if (!checks->in(place, "validity", s.validity, 0, ATTNPLAN_VALIDITY_DEVICE) ||
      !checks->in(place, "extent", s.extent, 0, ATTNPLAN_EXTENT_PAGES) ||
      !checks->in(place, "capacity", s.capacity, 0, total) ||
      !checks->in(place, "count", s.count, 0, s.capacity)) {
    return false;
  }
  if (s.capacity == 0) return checks->in(place, "offset", s.offset, 0, total);
  const int64_t size = PlanView::element_bytes(s.type);
  if (!checks->in(place, "offset", s.offset, *end, total) ||
      !checks->is(place, "offset modulo 64", s.offset % ATTNPLAN_PLAN_ALIGNMENT, 0) ||
      (size > 0 && !checks->in(place, "capacity", s.capacity, 0, (total - s.offset) / size))) {
    return false;
  }
  *end = s.offset + s.capacity * size;
  return true;
}

// Ascending, inside the plan. A fixed layout copies nothing else, so they must hold every value.
bool check_ranges(const PlanView& plan, Checks* checks) {
  const auto ranges = plan.byte_ranges();
  const auto total = static_cast<int64_t>(plan.header().total_bytes);
  int64_t end = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Place place{"byte_ranges", static_cast<int64_t>(i)};
    if (!checks->in(place, "offset", ranges[i].offset, end, total) ||
        !checks->in(place, "bytes", ranges[i].bytes, 0, total - ranges[i].offset)) {
      return false;
    }
    end = ranges[i].offset + ranges[i].bytes;
  }
  size_t range = 0;
  const auto holds = [&](int64_t begin, int64_t stop) {
    while (range < ranges.size() && ranges[range].offset + ranges[range].bytes < stop) ++range;
    return range < ranges.size() && ranges[range].offset <= begin;
  };
  if (!holds(0, plan.front_bytes())) return checks->wrong(kHeader, "is in no byte range");
  for (const attnplan_section& s : plan.sections()) {
    const int64_t bytes = s.count * PlanView::element_bytes(s.type);
    if (bytes > 0 && !holds(s.offset, s.offset + bytes)) {
      return checks->wrong(at(s.id), "is in no byte range", s.offset, s.offset + bytes);
    }
  }
  return true;
}

}  // namespace

bool check_front(const void* plan, size_t plan_bytes, Checks* checks, PlanView* view) {
  if (plan == nullptr) return checks->wrong({"plan"}, "is NULL");
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(plan) % 8);
  if (!checks->is({"plan"}, "address modulo 8", address, 0)) return false;
  constexpr auto kLeast = static_cast<int64_t>(sizeof(attnplan_plan_header));
  const int64_t bytes = plan_bytes > INT64_MAX ? INT64_MAX : static_cast<int64_t>(plan_bytes);
  if (!checks->in({"plan"}, "size in bytes", bytes, kLeast, INT64_MAX)) return false;
  const auto& h = *static_cast<const attnplan_plan_header*>(plan);
  if (!check_sizes(h, plan_bytes, checks)) return false;
  const std::span<const attnplan_section> table{
      reinterpret_cast<const attnplan_section*>(static_cast<const std::byte*>(plan) +
                                                h.header_bytes),
      static_cast<size_t>(h.num_sections)};
  int64_t end = h.header_bytes + static_cast<int64_t>(table.size_bytes()) +
                h.num_byte_ranges * static_cast<int64_t>(sizeof(attnplan_byte_range));
  int32_t last_id = 0;
  for (const attnplan_section& s : table) {
    if (!checks->in(kTable, "id", s.id, int64_t{last_id} + 1, INT32_MAX)) return false;
    last_id = s.id;
    const SectionShape* shape = section_shape(s.id);
    if (!check_entry(s, shape, &end, static_cast<int64_t>(h.total_bytes), checks)) return false;
  }
  if (!PlanView::open(plan, plan_bytes, view)) {
    return checks->wrong(kHeader, "does not count the segments", h.num_segments);
  }
  return check_ranges(*view, checks);
}

}  // namespace attnplan
