// A plan blob through the accessors of the C ABI, and its optional sections as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attnplan.h"
#include "json/json_writer.h"
#include "json/session.h"

namespace attnplan::json {

struct PlanReader {
  explicit PlanReader(const Outcome& outcome)
      : planner(outcome.planner),
        bytes(outcome.plan),
        header(attnplan_plan_get_header(bytes.data(), bytes.size())) {}

  // Empty where the plan has no such section.
  template <typename Element>
  std::span<const Element> section(int32_t id) const {
    attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
    if (attnplan_plan_get_section(bytes.data(), bytes.size(), id, &view, nullptr) != ATTNPLAN_OK) {
      return {};
    }
    return {static_cast<const Element*>(view.data), static_cast<size_t>(view.count)};
  }

  std::span<const attnplan_segment> segments() const {
    return {attnplan_plan_get_segments(bytes.data(), bytes.size()),
            static_cast<size_t>(header->num_segments)};
  }

  std::span<const attnplan_refusal> refusals_of(const attnplan_segment& segment) const {
    return section<attnplan_refusal>(ATTNPLAN_SECTION_REFUSALS)
        .subspan(static_cast<size_t>(segment.refusal_begin),
                 static_cast<size_t>(segment.refusal_end - segment.refusal_begin));
  }

  const attnplan_planner* planner;
  std::span<const std::byte> bytes;
  const attnplan_plan_header* header;
};

// Member "work": the work list.
void write_work(const PlanReader& plan, JsonWriter& writer);

// Member "sections" with one entry for each bit of `sections`.
void write_sections(const PlanReader& plan, uint64_t sections, JsonWriter& writer);

}  // namespace attnplan::json
