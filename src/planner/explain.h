// A plan for a person: one line per segment, and why every faster kernel was refused.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "attnplan/planner.h"
#include "attnplan_plan_format.h"

namespace attnplan {

// The parts of a blob that an explanation needs; borrowed.
struct PlanParts {
  const attnplan_plan_header* header = nullptr;
  std::span<const attnplan_segment> segments;
  std::span<const attnplan_refusal> refusals;
  std::span<const attnplan_warning> warnings;
  std::span<const int32_t> order;  // empty: plan order is the step's
};

// Lines of at most about 100 columns, each with its line break. INVALID_ARGUMENT where the plan is
// no plan of this planner and step. Allocates from the heap; not for the hot path.
Status explain(const Planner& planner, const Step& step, const PlanParts& plan, std::string* text,
               Error* error);

}  // namespace attnplan
