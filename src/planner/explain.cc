#include "planner/explain.h"

#include <fmt/format.h>

namespace attnplan {

Status explain(const Planner& planner, const Step&, const PlanParts& plan, std::string* text,
               Error*) {
  for (const attnplan_segment& s : plan.segments) {
    *text += fmt::format("{} {} requests [{}, {}) rows [{}, {}) width {}\n",
                         name(static_cast<Route>(s.route)), planner.contract(s.kernel).name,
                         s.req_begin, s.req_end, s.row_begin, s.row_end, s.width);
  }
  return Status::kOk;
}

}  // namespace attnplan
