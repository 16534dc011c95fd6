// Which graph a plan runs in, and why in none of a higher kind, for a person.
#pragma once

#include <span>
#include <string>

#include "attnplan/planner.h"
#include "attnplan_plan_format.h"

namespace attnplan {

// Lines with their breaks; empty where the planner knows of no graphs. Every kernel that `segments`
// name has to be one of the planner's.
std::string explain_graph(const Planner& planner, const Step& step,
                          const attnplan_plan_header& header,
                          std::span<const attnplan_segment> segments);

}  // namespace attnplan
