#include "tool/ragged_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "json/batch_document.h"
#include "tool/each_document.h"
#include "tool/one_line.h"
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

void append_markdown(const std::vector<Line>& lines, std::string& out) {
  for (size_t i = 0; i < lines.size(); ++i) {
    out += fmt::format("| {} |\n", fmt::join(lines[i], " | "));
    if (i > 0) continue;
    for (size_t column = 0; column < lines[i].size(); ++column) {
      out += column < kWords ? "|---" : "|---:";
    }
    out += "|\n";
  }
}

void append_aligned(const std::vector<Line>& lines, std::string& out) {
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (i > 0) out += "  ";
      out += i < kWords ? fmt::format("{:<{}}", line[i], widths[i])
                        : fmt::format("{:>{}}", line[i], widths[i]);
    }
    out += '\n';
  }
}

// File name without folder and ending.
std::string trace_name(const std::string& file) {
  if (file == "-") return "stdin";
  const std::string name = file.substr(file.find_last_of('/') + 1);
  return name.substr(0, name.find('.'));
}

// A trace that cannot be read or planned has no lines, and does not take the others' away.
ExitStatus add_trace(const std::string& file, const RaggedOptions& options,
                     std::vector<Line>& lines) {
  RaggedReporter reporter;
  ExitStatus status = kExitPlanned;
  const auto visit = [&](const Document& document, const json::Source& source) {
    json::BatchDocument step;
    const auto bad = json::parse_batch(document.text, source, options.backend, step);
    if (!bad && reporter.add(step)) return true;
    fmt::print(stderr, "attnplan: {}\n", one_line(bad ? bad->message : reporter.report().problem));
    status = bad || reporter.report().bad_document ? kExitUnusable : kExitRefused;
    return false;
  };
  const std::string unusable = read_documents(
      file, [] {}, visit);
  if (!unusable.empty()) {
    fmt::print(stderr, "attnplan: {}\n", unusable);
    status = kExitUnusable;
  }
  if (status != kExitPlanned) return status;
  add_lines(trace_name(file), "verify", reporter.report().verify, lines);
  add_lines(trace_name(file), "draft", reporter.report().draft, lines);
  return status;
}

}  // namespace

ExitStatus show_ragged(const RaggedOptions& options) {
  std::vector<Line> lines = {{"trace", "steps", "order", "policy", "decode rows kept",
                              "decode segments", "most", "all segments", "most"}};
  ExitStatus status = kExitPlanned;
  for (const std::string& file : options.files) {
    status = std::max(status, add_trace(file, options, lines));
  }
  Output output;
  if (lines.size() > 1) {
    options.markdown ? append_markdown(lines, output.text()) : append_aligned(lines, output.text());
  }
  return output.finish() ? status : kExitUnusable;
}

}  // namespace attnplan::tool
