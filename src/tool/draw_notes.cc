#include "tool/draw_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tool/draw_style.h"

namespace attnplan::tool {
namespace {

constexpr double kTextLeft = kMargin + 26;
constexpr double kWidest = kRight - kTextLeft;
constexpr size_t kMostNotes = 24;

double paragraph(Svg& svg, double y, std::string_view text, std::string_view color,
                 bool bold = false) {
  for (const std::string& line : wrap_text(text, kTextSize, kWidest)) {
    y += kLineHeight;
    svg.text(kTextLeft, y, line, kTextSize, color, Anchor::kStart, bold);
  }
  return y;
}

std::string graph_sentence(const DrawnGraph& graph) {
  if (graph.kind == ATTNPLAN_GRAPH_NONE) return "Graph: none; the step runs without one.";
  std::string text = fmt::format(
      "Graph: {} of {} rows", graph.kind == ATTNPLAN_GRAPH_FULL ? "full" : "piecewise", graph.rows);
  if (graph.requests >= 0) text += fmt::format(" and {} requests", graph.requests);
  if (graph.width > 0) text += fmt::format(", width {}", graph.width);
  if (graph.pad_rows == 0 && graph.pad_requests == 0) return text + ", filled without pads.";
  if (graph.requests < 0) return text + fmt::format("; {} rows of it are pads.", graph.pad_rows);
  return text + fmt::format("; {} rows and {} requests of it are pads.", graph.pad_rows,
                            graph.pad_requests);
}

}  // namespace

double draw_error(const Picture& picture, Svg& svg, double y) {
  if (!picture.error) return y;
  const DrawnError& error = *picture.error;
  const double top = y + 8;
  Svg words;  // drawn after the panel whose height they decide
  y = paragraph(words, top + 6, "refused: " + error.code, kAlarm, true);
  y = paragraph(words, y, error.message, kInk);
  for (const std::string& line : error.refusals) y = paragraph(words, y, line, kInk);
  svg.rect(kMargin, top, kRight - kMargin, y - top + 12, {"#fdecec"}, kAlarm, 6);
  svg.append(words);
  return y + 20;
}

double draw_notes(const Picture& picture, Svg& svg, double y) {
  if (picture.notes.empty() && !picture.graph && !picture.bounds) return y;
  y += 26;
  svg.text(kMargin, y, "notes", kHeadingSize, kInk, Anchor::kStart, true);
  const size_t shown = std::min(kMostNotes, picture.notes.size());
  for (size_t i = 0; i < shown; ++i) {
    const DrawnNote& note = picture.notes[i];
    const bool marked =
        note.position >= 0 && note.position < static_cast<int64_t>(picture.requests.size());
    if (marked) {
      const double x = kMargin + 9;
      const double top = y + kLineHeight - 8;
      svg.polygon(fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x, top, x - 5, top + 8,
                              x + 5, top + 8),
                  {kAlarm});
    }
    y = paragraph(svg, y, note.text, kInk);
  }
  if (shown < picture.notes.size()) {
    y = paragraph(svg, y, fmt::format("... and {} more", picture.notes.size() - shown), kQuiet);
  }
  if (picture.bounds) {
    y = paragraph(svg, y, "Some lengths are upper bounds: only the device knows the exact ones.",
                  kInk);
  }
  if (picture.graph) y = paragraph(svg, y, graph_sentence(*picture.graph), kInk);
  for (const std::string& reason : picture.graph_reasons) y = paragraph(svg, y, reason, kInk);
  return y;
}

}  // namespace attnplan::tool
