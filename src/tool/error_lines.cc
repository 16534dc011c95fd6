#include "tool/error_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tool/one_line.h"

namespace attnplan::tool {
namespace {

constexpr std::string_view kCutOff = "...";

// The parts of a sentence that lists refusals; any other sentence is one part.
std::vector<std::string> parts_of(const json::Outcome& outcome) {
  const std::string_view message = outcome.message;
  if (outcome.refusals.empty() || message.empty()) return {std::string{message}};
  std::vector<std::string> parts;
  for (size_t at = 0; at < message.size();) {
    const size_t end = std::min(message.find("; ", at), message.size());
    parts.emplace_back(message.substr(at, end - at));
    at = end + 2;
  }
  if (!parts.empty() && parts.back() == kCutOff) parts.pop_back();
  return parts;
}

}  // namespace

std::vector<std::string> error_lines(const json::Outcome& outcome) {
  std::vector<std::string> lines = parts_of(outcome);
  for (const attnplan_refusal& refusal : outcome.refusals) {
    const std::string kernel = attnplan_planner_kernel_name(outcome.planner, refusal.kernel);
    for (attnplan_reason reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
      if ((refusal.reasons >> reason & 1u) == 0) continue;
      const std::string text = fmt::format("{} refused: {}", kernel, attnplan_reason_name(reason));
      if (outcome.message.find(text + ',') == std::string::npos) lines.push_back(text);
    }
  }
  for (std::string& line : lines) line = one_line(line);
  return lines;
}

}  // namespace attnplan::tool
