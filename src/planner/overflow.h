// CAPACITY_EXCEEDED of a plan: a section beyond its place in a fixed layout, or all of them beyond
// max_sections_bytes.
#pragma once

#include "planner/plan.h"
#include "planner/sections.h"

namespace attnplan {

Status check_capacities(const Plan& plan, SectionList& sections, Error* error);

}  // namespace attnplan
