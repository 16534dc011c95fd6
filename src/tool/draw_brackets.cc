#include "tool/draw_brackets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tool/draw_style.h"

namespace attnplan::tool {
namespace {

constexpr double kBadge = 17;
constexpr double kLevelHeight = 36;
constexpr int kMostLevels = 5;

std::string width_text(const attnplan_segment& segment) {
  if (segment.width > 0) return fmt::format("width {}", segment.width);
  const bool exact = (segment.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) != 0;
  if (exact && segment.min_query_len == segment.max_query_len) {  // and pads between them
    return fmt::format("{} row{}", segment.max_query_len, segment.max_query_len == 1 ? "" : "s");
  }
  return exact ? fmt::format("{} to {} rows", segment.min_query_len, segment.max_query_len)
               : fmt::format("up to {} rows", segment.max_query_len);
}

// Neighbours that share one label: brackets too narrow to be told apart.
struct Cluster {
  size_t begin = 0;
  size_t end = 0;
};

struct Label {
  double left = 0;
  double width = 0;
  double anchor = 0;  // middle of the bracket
  int level = -1;     // -1: there is no room, the table has to do
  double badge_width = kBadge;
  double badge_left = 0;
  std::string badge;
  std::string kernel;  // empty: a badge alone
  std::string what;

  double right() const { return left + width; }
};

bool collide(const Label& a, const Label& b) {
  if (a.level == b.level) return a.left < b.right() + 8 && b.left < a.right() + 8;
  // A leader line passes the levels below its label.
  const Label& upper = a.level > b.level ? a : b;
  const Label& lower = a.level > b.level ? b : a;
  return upper.anchor > lower.left - 4 && upper.anchor < lower.right() + 4;
}

// Tries a place for the text: the badge's left edge, and where the whole label begins.
bool settles(Label& label, double left, double badge_left, const std::vector<Label>& placed) {
  label.left = left;
  label.badge_left = badge_left;
  if (left < kMargin || label.right() > kRight + 8) return false;
  for (label.level = 0; label.level < kMostLevels; ++label.level) {
    const bool taken = std::any_of(placed.begin(), placed.end(), [&](const Label& other) {
      return other.level >= 0 && collide(label, other);
    });
    if (!taken) return true;
  }
  return false;
}

// Over the middle of the bracket where that is wide enough, else to the right of its leader line
// like a flag, else to the left. The leader may stand anywhere on the bracket.
bool place(Label& label, double left, double right, const std::vector<Label>& placed) {
  const double middle = (left + right) / 2;
  const double half_badge = label.badge_width / 2;
  const double inset = std::min(half_badge + 16, (right - left) / 2);
  label.anchor = middle;
  const double over = middle - label.width / 2;
  if (label.width <= right - left && settles(label, over, over, placed)) return true;
  for (const double anchor : {middle, left + inset, right - inset}) {
    label.anchor = anchor;
    const double flag = std::min(anchor - half_badge, kRight + 8 - label.width);
    if (settles(label, flag, flag, placed)) return true;
    if (settles(label, anchor + half_badge - label.width, anchor - half_badge, placed)) return true;
  }
  return false;
}

std::vector<Cluster> clusters_of(const Picture& picture, const Columns& columns) {
  constexpr double kNarrow = 6;
  const auto narrow = [&](const attnplan_segment& s) {
    return columns.left(s.req_end) - columns.left(s.req_begin) < kNarrow;
  };
  std::vector<Cluster> clusters;
  for (size_t i = 0; i < picture.segments.size(); ++i) {
    const attnplan_segment& s = picture.segments[i].figures;
    if (i > 0) {
      const attnplan_segment& last = picture.segments[i - 1].figures;
      if (narrow(s) && narrow(last) && s.kernel == last.kernel && s.req_begin == last.req_end) {
        clusters.back().end = i + 1;
        continue;
      }
    }
    clusters.push_back({i, i + 1});
  }
  return clusters;
}

// Full labels where they fit, badges elsewhere: the table below says the rest. From the right to
// the left, so that the leader lines of flags pass beside the labels that stand already.
std::vector<Label> place_labels(const Picture& picture, const Columns& columns) {
  std::vector<Label> placed;
  const std::vector<Cluster> clusters = clusters_of(picture, columns);
  for (size_t c = clusters.size(); c-- > 0;) {
    const Cluster& cluster = clusters[c];
    const DrawnSegment& first = picture.segments[cluster.begin];
    const attnplan_segment& last = picture.segments[cluster.end - 1].figures;
    const size_t count = cluster.end - cluster.begin;
    Label label;
    const double left = columns.left(first.figures.req_begin);
    const double right = columns.left(last.req_end);
    label.badge = count == 1 ? fmt::format("{}", cluster.begin + 1)
                             : fmt::format("{}-{}", cluster.begin + 1, cluster.end);
    label.badge_width = std::max(kBadge, text_width(label.badge, kSmallSize + 1) + 6);
    label.kernel = fit_text(first.kernel, kTextSize, 220);
    const std::string figure =
        count == 1 ? width_text(first.figures) : fmt::format("{} segments", count);
    label.what = fmt::format("{}, {}", attnplan_route_name(first.figures.route), figure);
    const double text = std::max(text_width(label.kernel, kTextSize) * 1.08,
                                 text_width(label.what, kSmallSize + 1));
    label.width = label.badge_width + 6 + text;
    if (!place(label, left, right, placed)) {
      label.kernel.clear();
      label.width = label.badge_width;
      if (!place(label, left, right, placed)) label.level = -1;
    }
    placed.push_back(label);
  }
  std::reverse(placed.begin(), placed.end());
  return placed;
}

void draw_badge(Svg& svg, double x, double y, double width, std::string_view text,
                std::string_view color) {
  svg.rect(x, y, width, kBadge, {color}, {}, 8);
  svg.text(x + width / 2, y + 12.5, text, kSmallSize + 1, "#ffffff", Anchor::kMiddle, true);
}

void draw_label(const Label& label, std::string_view color, double bar, double top, Svg& svg) {
  const bool below_badge = std::abs(label.badge_left + label.badge_width / 2 - label.anchor) < 1;
  svg.line(label.anchor, top + (below_badge ? kBadge : kLevelHeight - 6), label.anchor, bar, color);
  draw_badge(svg, label.badge_left, top, label.badge_width, label.badge, color);
  if (label.kernel.empty()) return;
  const bool flipped = label.badge_left > label.left + 1;
  const double x = flipped ? label.badge_left - 6 : label.badge_left + label.badge_width + 6;
  const Anchor anchor = flipped ? Anchor::kEnd : Anchor::kStart;
  svg.text(x, top + 11, label.kernel, kTextSize, kInk, anchor, true);
  svg.text(x, top + 25, label.what, kSmallSize + 1, kQuiet, anchor);
}

void draw_bracket(const attnplan_segment& s, const Columns& columns, double feet, Svg& svg) {
  const std::string_view color = color_of(s.route);
  const double gap = std::min(2.0, columns.slot() * 0.1);
  const double left = columns.left(s.req_begin) + gap;
  const double right = std::max(left + 1, columns.left(s.req_end) - gap);
  svg.line(left, feet - 9, right, feet - 9, color, 2.5);
  svg.line(left, feet - 9, left, feet - 2, color, 1.5);
  svg.line(right, feet - 9, right, feet - 2, color, 1.5);
}

}  // namespace

double draw_brackets(const Picture& picture, const Columns& columns, Svg& svg, double y) {
  if (picture.segments.empty()) return y;
  const std::vector<Label> labels = place_labels(picture, columns);
  const std::vector<Cluster> clusters = clusters_of(picture, columns);
  int levels = 1;
  for (const Label& label : labels) levels = std::max(levels, label.level + 1);
  const double feet = y + levels * kLevelHeight + 16;
  for (const DrawnSegment& segment : picture.segments) {
    draw_bracket(segment.figures, columns, feet, svg);
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].level < 0) continue;
    const double top = feet - 16 - (labels[i].level + 1) * kLevelHeight + 4;
    draw_label(labels[i], color_of(picture.segments[clusters[i].begin].figures.route), feet - 9,
               top, svg);
  }
  return feet;
}

namespace {

struct Cell {
  double x;
  std::string_view title;
};
// Left edges.
constexpr Cell kCells[] = {{kMargin + 26, "kernel"}, {250, "route"},      {310, "requests (live)"},
                           {440, "rows (how many)"}, {590, "width"},      {665, "query rows"},
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
          s.width > 0   ? fmt::format("{}", s.width)
          : exact_query ? "ragged"
                        : "device",
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
    const bool positions = picture.sorted && cell.title.starts_with("requests");
    svg.text(cell.x, y, positions ? "positions (live)" : cell.title, kSmallSize + 1, kQuiet);
  }
  svg.line(kMargin, y + 5, kRight, y + 5, kFaint);
  for (size_t i = 0; i < picture.segments.size(); ++i) {
    y += kLineHeight + 2;
    draw_badge(svg, kMargin, y - 13, kBadge, fmt::format("{}", i + 1),
               color_of(picture.segments[i].figures.route));
    const std::vector<std::string> cells = cells_of(picture.segments[i]);
    for (size_t c = 0; c < cells.size(); ++c) svg.text(kCells[c].x, y, cells[c], kTextSize, kInk);
  }
  return y + 6;
}

}  // namespace attnplan::tool
