#include "expect_truth.h"

#include "same_plan.h"

namespace attnplan::refresh {
namespace {

std::string complaint_about(const Buffer& plan) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const attnplan_status status =
      attnplan_plan_verify(plan.data(), plan.size(), nullptr, nullptr, nullptr, nullptr, &error);
  return status == ATTNPLAN_OK ? "" : error.message;
}

}  // namespace

Judgement judge_refreshed(const Subject& s, const Buffer& refreshed, const Outcome& outcome) {
  Judgement out;
  const auto found = [&out](const char* where, const std::string& wrong) {
    if (out.wrong.empty() && !wrong.empty()) out.wrong = std::string(where) + ": " + wrong;
  };
  const cpu::RefreshRules rules = s.rules();
  found("chunks", check_chunks(refreshed, outcome.truth, rules, outcome.tensors));
  found("work", check_work(refreshed, s.host_plan, outcome.truth, rules, outcome.tensors));
  // Items that have nothing left stay where they were, beyond their request even.
  const bool work = s.host.config.work != ATTNPLAN_WORK_NONE;
  found("verify", work ? "" : complaint_about(refreshed));
  if (outcome.plan.size() == 0 || !same_shape(refreshed, outcome.plan)) return out;
  out.compared = true;
  found("plan of the true lengths", compare_sections(refreshed, outcome.plan));
  return out;
}

}  // namespace attnplan::refresh
