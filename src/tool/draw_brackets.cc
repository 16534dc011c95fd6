#include "tool/draw_brackets.h"

#include <fmt/format.h>

#include <algorithm>

#include "tool/draw_style.h"

namespace attnplan::tool {
namespace {

constexpr double kBadge = 17;
constexpr double kLevelHeight = 36;
constexpr int kMostLevels = 3;

std::string width_text(const attnplan_segment& segment) {
  if (segment.width > 0) return fmt::format("width {}", segment.width);
  const bool exact = (segment.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
  return exact ? fmt::format("ragged, {} to {} rows", segment.min_query_len, segment.max_query_len)
               : fmt::format("up to {} rows", segment.max_query_len);
}

struct Label {
  double left = 0;
  double width = 0;
  double anchor = 0;  // middle of the bracket
  int level = 0;
  std::string kernel;  // empty: a badge alone
  std::string what;
};

bool free_at(const std::vector<Label>& placed, int level, double left, double right) {
  return std::none_of(placed.begin(), placed.end(), [&](const Label& other) {
    const double other_right = other.left + other.width;
    // A leader line passes the levels below its label.
    const bool leader = other.level > level && other.anchor > left - 6 && other.anchor < right + 6;
    return leader || (other.level == level && left < other_right + 10 && other.left < right + 10);
  });
}

// The lowest level with room for it; false where there is none.
bool place(Label& label, const std::vector<Label>& placed) {
  const double most_left = kPlotRight - label.width;
  label.left = std::clamp(label.anchor - label.width / 2, kPlotLeft - 40, most_left);
  for (label.level = 0; label.level < kMostLevels; ++label.level) {
    if (free_at(placed, label.level, label.left, label.left + label.width)) return true;
  }
  return false;
}

// Full labels where they fit, badges elsewhere: the table below says the rest.
std::vector<Label> place_labels(const Picture& picture, const Columns& columns) {
  std::vector<Label> placed;
  for (const DrawnSegment& segment : picture.segments) {
    const attnplan_segment& s = segment.figures;
    Label label;
    label.anchor = (columns.left(s.req_begin) + columns.left(s.req_end)) / 2;
    label.kernel = fit_text(segment.kernel, kTextSize, 220);
    label.what = fmt::format("{}, {}", attnplan_route_name(s.route), width_text(s));
    label.width = kBadge + 6 + std::max(text_width(label.kernel, kTextSize),
                                        text_width(label.what, kSmallSize + 1));
    if (!place(label, placed)) {
      label.kernel.clear();
      label.width = kBadge;
      if (!place(label, placed)) label.level = kMostLevels - 1;
    }
    placed.push_back(label);
  }
  return placed;
}

void draw_badge(Svg& svg, double x, double y, size_t number, std::string_view color) {
  svg.rect(x, y, kBadge, kBadge, {color}, {}, 8);
  svg.text(x + kBadge / 2, y + 12.5, fmt::format("{}", number), kSmallSize + 1, "#ffffff",
           Anchor::kMiddle, true);
}

}  // namespace

double draw_brackets(const Picture& picture, const Columns& columns, Svg& svg, double y) {
  if (picture.segments.empty()) return y;
  const std::vector<Label> labels = place_labels(picture, columns);
  int levels = 0;
  for (const Label& label : labels) levels = std::max(levels, label.level + 1);
  const double feet = y + levels * kLevelHeight + 16;
  for (size_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    const attnplan_segment& s = picture.segments[i].figures;
    const std::string_view color = color_of(s.route);
    const double gap = std::min(2.0, columns.slot() * 0.1);
    const double left = columns.left(s.req_begin) + gap;
    const double right = std::max(left + 1, columns.left(s.req_end) - gap);
    const double bar = feet - 9;
    svg.line(left, bar, right, bar, color, 2.5);
    svg.line(left, bar, left, feet - 2, color, 1.5);
    svg.line(right, bar, right, feet - 2, color, 1.5);
    const double top = feet - 16 - (label.level + 1) * kLevelHeight + 4;
    svg.line(label.anchor, top + kBadge, label.anchor, bar, color, 1);
    if (!label.kernel.empty()) {
      svg.rect(label.left - 2, top - 2, label.width + 4, kLevelHeight - 4, {kBackground});
      svg.text(label.left + kBadge + 6, top + 11, label.kernel, kTextSize, kInk, Anchor::kStart,
               true);
      svg.text(label.left + kBadge + 6, top + 25, label.what, kSmallSize + 1, kQuiet);
    }
    draw_badge(svg, label.left, top, i + 1, color);
  }
  return feet;
}

namespace {

struct Cell {
  double x;
  std::string_view title;
};
// Left edges; figures are set to the right edge of their title.
constexpr Cell kCells[] = {{kMargin + 26, "kernel"}, {250, "route"},      {310, "requests"},
                           {440, "rows"},            {590, "width"},      {665, "query rows"},
                           {765, "KV length"},       {900, "page, label"}};

std::string span_text(int64_t begin, int64_t end, int64_t count) {
  if (end - begin == 1) return fmt::format("{} ({})", begin, count);
  return fmt::format("{}-{} ({})", begin, end - 1, count);
}

std::string range_text(int64_t low, int64_t high, bool exact) {
  if (!exact) return fmt::format("up to {}", high);
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

std::vector<std::string> cells_of(const DrawnSegment& segment) {
  const attnplan_segment& s = segment.figures;
  const bool exact_query = (s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
  const bool exact_seq = (s.flags & ATTNPLAN_SEGMENT_EXACT_SEQ_LENS) != 0;
  return {fit_text(segment.kernel, kTextSize, 190),
          attnplan_route_name(s.route),
          span_text(s.req_begin, s.req_end, s.num_live),
          span_text(s.row_begin, s.row_end, int64_t{s.row_end} - s.row_begin),
          s.width > 0 ? fmt::format("{}", s.width) : exact_query ? "ragged" : "device",
          range_text(s.min_query_len, s.max_query_len, exact_query),
          range_text(s.min_seq_len, s.max_seq_len, exact_seq),
          s.page_size > 0 ? fmt::format("{}, {}", s.page_size, attnplan_dtype_name(s.label)) : ""};
}

}  // namespace

double draw_segment_table(const Picture& picture, Svg& svg, double y) {
  if (picture.segments.empty()) return y;
  y += 26;
  svg.text(kMargin, y, "segments", kHeadingSize, kInk, Anchor::kStart, true);
  y += kLineHeight;
  const bool has_cache = picture.view.has_value();
  for (const Cell& cell : kCells) {
    if (&cell == std::end(kCells) - 1 && !has_cache) continue;
    const bool positions = picture.sorted && cell.title == "requests";
    svg.text(cell.x, y, positions ? "positions" : cell.title, kSmallSize + 1, kQuiet);
  }
  svg.line(kMargin, y + 5, kPlotRight, y + 5, kFaint);
  for (size_t i = 0; i < picture.segments.size(); ++i) {
    y += kLineHeight + 2;
    draw_badge(svg, kMargin, y - 13, i + 1, color_of(picture.segments[i].figures.route));
    const std::vector<std::string> cells = cells_of(picture.segments[i]);
    for (size_t c = 0; c < cells.size(); ++c) svg.text(kCells[c].x, y, cells[c], kTextSize, kInk);
  }
  return y + 6;
}

}  // namespace attnplan::tool
