#include "tool/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tool/error_lines.h"
#include "tool/one_line.h"

namespace attnplan::tool {
namespace {

constexpr size_t kMostRequests = 16;

void append_plan(const json::BatchDocument& batch, const json::Outcome& outcome, std::string& out) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  size_t bytes = 0;
  const auto explain = [&](char* text) {
    return attnplan_plan_explain(outcome.planner, &batch.step(), outcome.plan.data(),
                                 outcome.plan.size(), text, &bytes, &error);
  };
  if (explain(nullptr) == ATTNPLAN_OK) {
    std::string text(bytes, '\0');
    if (explain(text.data()) == ATTNPLAN_OK) {
      out.append(text.c_str());
      return;
    }
  }
  out += fmt::format("no explanation: {}\n", error.message);
}

void append_requests(const json::Outcome& outcome, std::string& out) {
  if (outcome.requests.empty()) return;
  const size_t shown = std::min(kMostRequests, outcome.requests.size());
  out += fmt::format("  requests: {}", fmt::join(outcome.requests.first(shown), ", "));
  if (shown < outcome.requests.size()) {
    out += fmt::format(", ... ({} in all)", outcome.requests.size());
  }
  out += '\n';
}

}  // namespace

void append_outcome(const json::BatchDocument& batch, const json::Outcome& outcome,
                    std::string& out) {
  if (outcome.planned()) return append_plan(batch, outcome, out);
  const std::vector<std::string> lines = error_lines(outcome);
  out += fmt::format("error {}: {}\n", outcome.code, lines.front());
  for (size_t i = 1; i < lines.size(); ++i) out += fmt::format("  {}\n", lines[i]);
  append_requests(outcome, out);
}

void append_explanation(const json::BatchDocument& batch, const json::Outcome& outcome,
                        std::string& out) {
  if (!batch.name().empty()) out += fmt::format("# {}\n", one_line(batch.name()));
  append_outcome(batch, outcome, out);
  out += '\n';
}

}  // namespace attnplan::tool
