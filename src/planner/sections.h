// The sections of a plan: how many elements each has, how far its values can be trusted, and the
// values. docs/planning.md, "Sections".
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnplan_plan_format.h"
#include "planner/write.h"

namespace attnplan {

struct SectionSpec {
  int32_t id;
  uint16_t type;
  uint8_t extent;
  uint8_t validity;
  int64_t count;  // elements
  int32_t element_bytes;

  int64_t bytes() const { return count * element_bytes; }
};

inline constexpr int kMaxSections = 16;

// Fills specs[kMaxSections] with what the plan holds, in ascending id; returns how many.
int describe_sections(const Plan& plan, SectionSpec* specs);

// Writes the values of one section to `out`, which has spec.bytes() bytes.
void write_section(const Plan& plan, const SectionSpec& spec, std::byte* out);

}  // namespace attnplan
