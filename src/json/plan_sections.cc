#include "json/plan_sections.h"

#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

// One list per segment.
void write_query_start_loc(const PlanReader& plan, JsonWriter& writer) {
  const auto offsets = plan.section<int32_t>(ATTNPLAN_SECTION_QUERY_START_LOC);
  writer.begin_array();
  for (const attnplan_segment& segment : plan.segments()) {
    writer.list(offsets.subspan(static_cast<size_t>(segment.query_start_loc_begin),
                                static_cast<size_t>(segment.req_end - segment.req_begin) + 1));
  }
  writer.end_array();
}

// Plain lists of int32 need no writer of their own.
void write_section(const PlanReader& plan, int32_t id, JsonWriter& writer) {
  switch (id) {
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      return write_query_start_loc(plan, writer);
    default:
      return writer.list(plan.section<int32_t>(id));
  }
}

}  // namespace

void write_sections(const PlanReader& plan, uint64_t sections, JsonWriter& writer) {
  writer.key("sections");
  writer.begin_object();
  for (const Word& section : kSections) {
    if (section.value == kSectionPending || (sections >> section.value & 1) == 0) continue;
    writer.key(section.text);
    write_section(plan, section.value, writer);
  }
  writer.end_object();
}

}  // namespace attnplan::json
