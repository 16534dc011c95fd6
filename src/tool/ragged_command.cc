#include "tool/ragged_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "tool/load_documents.h"
#include "tool/ragged_report.h"

namespace attnplan::tool {
namespace {

using Line = std::vector<std::string>;
constexpr size_t kWords = 4;  // columns of words; the others hold figures

std::string ratio(int64_t sum, int64_t count, double factor, std::string_view unit) {
  if (count == 0) return "-";
  return fmt::format("{:.1f}{}", factor * static_cast<double>(sum) / static_cast<double>(count),
                     unit);
}

void add_lines(const std::string& trace, const char* phase, const PhaseFigures& figures,
               std::vector<Line>& lines) {
  if (figures.steps == 0) return;
  for (const bool sorted : {false, true}) {
    for (size_t policy = 0; policy < kNumPolicies; ++policy) {
      const RaggedFigures& f = (sorted ? figures.sorted : figures.as_given)[policy];
      lines.push_back(
          {trace, fmt::format("{} {}", figures.steps, phase), sorted ? "sort" : "as_given",
           kPolicyNames[policy], ratio(f.kept_rows, figures.decode_rows, 100, "%"),
           ratio(f.decode_segments, figures.steps, 1, ""),
           fmt::format("{}", f.most_decode_segments), ratio(f.segments, figures.steps, 1, ""),
           fmt::format("{}", f.most_segments)});
    }
  }
}

void print_markdown(const std::vector<Line>& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    fmt::print("| {} |\n", fmt::join(lines[i], " | "));
    if (i > 0) continue;
    for (size_t column = 0; column < lines[i].size(); ++column) {
      fmt::print("{}", column < kWords ? "|---" : "|---:");
    }
    fmt::print("|\n");
  }
}

void print_aligned(const std::vector<Line>& lines) {
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (i > 0) fmt::print("  ");
      i < kWords ? fmt::print("{:<{}}", line[i], widths[i])
                 : fmt::print("{:>{}}", line[i], widths[i]);
    }
    fmt::print("\n");
  }
}

// File name without folder and ending.
std::string trace_name(const std::string& file) {
  const size_t slash = file.find_last_of('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

// Kept apart, so that a trace that cannot be read does not take the others' figures away.
bool add_trace(const std::string& file, const RaggedOptions& options, std::vector<Line>& lines,
               ExitStatus* status) {
  std::string problem;
  const auto steps = load_documents(file, options.backend, &problem);
  if (!steps) {
    fmt::print(stderr, "attnplan: {}\n", problem);
    *status = kExitUnusable;
    return false;
  }
  const TraceReport report = report_ragged(*steps);
  if (!report.problem.empty()) {
    fmt::print(stderr, "attnplan: {}: {}\n", file, report.problem);
    *status = std::max(*status, kExitRefused);
    return false;
  }
  add_lines(trace_name(file), "verify", report.verify, lines);
  add_lines(trace_name(file), "draft", report.draft, lines);
  return true;
}

}  // namespace

ExitStatus show_ragged(const RaggedOptions& options) {
  std::vector<Line> lines = {{"trace", "steps", "order", "policy", "decode rows kept",
                              "decode segments", "most", "all segments", "most"}};
  ExitStatus status = kExitPlanned;
  bool any = false;
  for (const std::string& file : options.files) any |= add_trace(file, options, lines, &status);
  if (any) options.markdown ? print_markdown(lines) : print_aligned(lines);
  std::fflush(stdout);
  return status;
}

}  // namespace attnplan::tool
