// The explanation names what it explains: every kernel of the plan, every refusal and its reasons.
#include <string>

#include "facts.h"

namespace attnplan::property {
namespace {

std::string explain(const attnplan_planner* planner, const attnplan_step& step,
                    const Buffer& plan) {
  size_t bytes = 0;
  if (attnplan_plan_explain(planner, &step, plan.data(), plan.size(), nullptr, &bytes, nullptr) !=
      ATTNPLAN_OK) {
    return "";
  }
  std::vector<char> text(bytes);
  const attnplan_status status =
      attnplan_plan_explain(planner, &step, plan.data(), plan.size(), text.data(), &bytes, nullptr);
  return status == ATTNPLAN_OK && bytes == text.size() ? text.data() : "";
}

}  // namespace

std::string check_explain(const oracle::BatchStructs& structs, const attnplan_planner* planner,
                          const Buffer& plan) {
  const std::string text = explain(planner, structs.step(), plan);
  if (text.empty()) return "no explanation";
  const auto says = [&text](const char* word) { return text.find(word) != std::string::npos; };
  for (const attnplan_segment& segment : segments_of(plan)) {
    const char* kernel = attnplan_planner_kernel_name(planner, segment.kernel);
    if (!says(kernel)) return std::string("the explanation leaves out kernel ") + kernel;
    for (const attnplan_refusal& refusal : refusals_of(plan, segment)) {
      const char* refused = attnplan_planner_kernel_name(planner, refusal.kernel);
      if (!says(refused)) return std::string("the explanation leaves out refused ") + refused;
      for (int reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
        if ((refusal.reasons >> reason & 1u) == 0) continue;
        const char* name = attnplan_reason_name(reason);
        if (!says(name)) return std::string("the explanation leaves out reason ") + name;
      }
    }
  }
  return "";
}

}  // namespace attnplan::property
