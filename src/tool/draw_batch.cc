#include "tool/draw_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tool/draw_brackets.h"
#include "tool/draw_scale.h"
#include "tool/draw_style.h"

namespace attnplan::tool {
namespace {

constexpr double kQueryHeight = 130;
constexpr double kSeqHeight = 100;
constexpr double kPadHeight = 12;
constexpr double kLabelHeight = 34;  // between the charts
constexpr double kBinPixels = 3;
constexpr double kTickHeight = 5;
constexpr double kNarrowPads = 4;  // pixels: below, a run of pads is too narrow for hatching

// Neighbours of one colour that share a bar.
struct Bin {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t live = 0;
  int64_t longest = 0;
  double mean = 0;
  bool pad = false;
  std::string_view color;
};

class BatchCharts {
 public:
  BatchCharts(const Picture& picture, const Columns& columns, Svg& svg)
      : picture_(picture), columns_(columns), svg_(svg) {}

  // `baseline`: bars of query rows stand on it.
  void draw_query_rows(double baseline) {
    const auto lengths = lengths_of(&DrawnRequest::query_len);
    const LengthScale scale(lengths, kQueryHeight);
    axis(scale, baseline, -1, "query rows", "per request");
    bars(lengths, scale, baseline, -1);
    svg_.line(kPlotLeft, baseline, columns_.right(), baseline, kInk);
  }

  // `ceiling`: bars of KV lengths hang from it.
  void draw_seq_lens(double ceiling) {
    const auto lengths = lengths_of(&DrawnRequest::seq_len);
    const LengthScale scale(lengths, kSeqHeight);
    axis(scale, ceiling, 1, "KV length", "tokens");
    bars(lengths, scale, ceiling, 1);
    svg_.line(kPlotLeft, ceiling, columns_.right(), ceiling, kInk);
  }

  // Which request stands where.
  void draw_positions(double y) {
    const int64_t count = columns_.count();
    int64_t step = 1;
    const double widest = text_width(fmt::format("{}", count), kSmallSize) + 8;
    for (int64_t factor = 0; columns_.slot() * static_cast<double>(step) < widest; ++factor) {
      step = factor % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    for (int64_t i = 0; i < count; i += step) {
      const auto& request = picture_.requests[static_cast<size_t>(i)];
      svg_.text(center(i), y, fmt::format("{}", columns_.aggregated() ? i : request.request),
                kSmallSize, kQuiet, Anchor::kMiddle);
    }
    const bool positions = picture_.sorted && columns_.aggregated();
    svg_.text(kPlotLeft - 8, y, positions ? "position" : "request", kSmallSize, kQuiet,
              Anchor::kEnd);
  }

  // Pads that are too narrow to stand among the bars, as ticks that merge where they are many.
  // False where there are none.
  bool draw_narrow_pads(double y) {
    bool any = false;
    double left = 0, right = -1;
    const auto flush = [&] {
      if (right > left) svg_.rect(left, y, right - left, kTickHeight, {kPadTick});
    };
    for (int64_t i = 0; i < columns_.count(); ++i) {
      if (!is_narrow_pad(i)) continue;
      any = true;
      const double begin = std::floor(columns_.left(i));
      if (begin > right) {
        flush();
        left = begin;
      }
      right = std::max(std::ceil(columns_.left(i + 1)), begin + 1);
    }
    flush();
    return any;
  }

  void draw_marks(double y) {
    for (size_t i = 0; i < picture_.notes.size(); ++i) {
      const int32_t at = picture_.notes[i].position;
      if (at < 0 || at >= columns_.count()) continue;
      const double x = center(at);
      svg_.polygon(fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x, y, x - 5, y + 8,
                               x + 5, y + 8),
                   {kAlarm});
    }
  }

 private:
  std::vector<int64_t> lengths_of(int64_t DrawnRequest::*member) const {
    std::vector<int64_t> lengths;
    for (const DrawnRequest& request : picture_.requests) lengths.push_back(request.*member);
    return lengths;
  }

  double center(int64_t position) const { return columns_.left(position) + columns_.slot() / 2; }

  std::string_view color(const DrawnRequest& request) const {
    return picture_.error ? kUnplannedColor : color_of(request.route);
  }

  void axis(const LengthScale& scale, double zero, int direction, std::string_view title,
            std::string_view unit) {
    for (const Tick& tick : scale.ticks()) {
      const double y = zero + direction * scale.height(tick.value);
      svg_.line(kPlotLeft, y, columns_.right(), y, kFaint);
      svg_.text(kPlotLeft - 8, y + 3.5, tick.text, kSmallSize, kQuiet, Anchor::kEnd);
    }
    const double middle = zero + direction * (direction < 0 ? kQueryHeight : kSeqHeight) / 2;
    const double x = kMargin - 8;
    svg_.text(x, middle - 6, title, kSmallSize, kInk, Anchor::kStart, true);
    svg_.text(x, middle + 7, unit, kSmallSize, kQuiet);
    if (scale.logarithmic()) svg_.text(x, middle + 20, "log scale", kSmallSize, kQuiet);
  }

  void bars(const std::vector<int64_t>& lengths, const LengthScale& scale, double zero,
            int direction) {
    const std::vector<Bin> all = bins(lengths);
    // KV lengths say little one by one: all of them are written, or none.
    const bool numbers = direction < 0 || std::all_of(all.begin(), all.end(), [&](const Bin& bin) {
                           return fits(short_number(bin.longest));
                         });
    for (const Bin& bin : all) {
      if (bin.pad) {
        pad_bar(bin.begin, bin.end, zero, direction, kPadPaint, kPadStroke);
      } else {
        bar(bin, scale, zero, direction, numbers);
      }
    }
    const int64_t pads = columns_.pads();
    if (pads == 0) return;
    if (columns_.aggregated()) {
      return pad_bar(columns_.count(), columns_.count() + pads, zero, direction, kGraphPadPaint,
                     kGraphPadStroke);
    }
    for (int64_t i = 0; i < pads; ++i) {
      const int64_t at = columns_.count() + i;
      pad_bar(at, at + 1, zero, direction, kGraphPadPaint, kGraphPadStroke);
    }
  }

  bool is_pad(int64_t position) const {
    return picture_.requests[static_cast<size_t>(position)].query_len == 0;
  }
  bool is_narrow_pad(int64_t position) const {
    if (!columns_.aggregated() || !is_pad(position)) return false;
    const auto most = static_cast<int64_t>(kNarrowPads / columns_.slot());
    int64_t run = 1;
    for (int64_t i = position; run <= most && i > 0 && is_pad(i - 1); --i) ++run;
    for (int64_t i = position + 1; run <= most && i < columns_.count() && is_pad(i); ++i) ++run;
    return run <= most;
  }

  // One request each, or as many as it takes to be seen; then narrow pads between them belong to
  // their bars and do not count.
  std::vector<Bin> bins(const std::vector<int64_t>& lengths) const {
    const int64_t most =
        columns_.aggregated() ? static_cast<int64_t>(kBinPixels / columns_.slot()) + 1 : 1;
    std::vector<Bin> bins;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto position = static_cast<int64_t>(i);
      const bool narrow = is_narrow_pad(position), pad = is_pad(position) && !narrow;
      const std::string_view own = color(picture_.requests[i]);
      const bool room =
          !bins.empty() && bins.back().pad == pad && position - bins.back().begin < most;
      if (!room || !(narrow || bins.back().live == 0 || bins.back().color == own)) {
        bins.push_back({position, position, 0, 0, 0, pad, own});
      }
      Bin& bin = bins.back();
      bin.end = position + 1;
      if (narrow) continue;
      if (bin.live++ == 0) bin.color = own;
      bin.longest = std::max(bin.longest, lengths[i]);
      bin.mean += (static_cast<double>(lengths[i]) - bin.mean) / static_cast<double>(bin.live);
    }
    return bins;
  }

  bool fits(std::string_view number) const {
    return text_width(number, kSmallSize) <= columns_.slot() - 2;
  }

  void bar(const Bin& bin, const LengthScale& scale, double zero, int direction, bool number) {
    const auto longest = static_cast<double>(bin.longest);
    if (columns_.aggregated()) {  // on whole pixels, so that neighbours join without a seam
      const double x = std::round(columns_.left(bin.begin));
      const double width = std::max(1.0, std::round(columns_.left(bin.end)) - x);
      column(x, width, scale.height(longest), zero, direction, {bin.color, 0.35});
      column(x, width, scale.height(bin.mean), zero, direction, {bin.color});
      return;
    }
    const double width = columns_.bar_width();
    const double height = scale.height(longest);
    column(center(bin.begin) - width / 2, width, height, zero, direction,
           {bin.color, direction < 0 ? 1.0 : 0.55});
    const std::string text = short_number(bin.longest);
    if (!number || !fits(text)) return;
    const double y = zero + direction * height + (direction < 0 ? -4 : 11);
    svg_.text(center(bin.begin), y, text, kSmallSize, kInk, Anchor::kMiddle);
  }

  void column(double x, double width, double height, double zero, int direction, Fill fill) {
    if (height <= 0) return;
    svg_.rect(x, direction < 0 ? zero - height : zero, width, height, fill);
  }

  void pad_bar(int64_t begin, int64_t end, double zero, int direction, std::string_view paint,
               std::string_view stroke) {
    const double width =
        end - begin == 1 ? columns_.bar_width() : columns_.left(end) - columns_.left(begin);
    const double x = (columns_.left(begin) + columns_.left(end)) / 2 - width / 2;
    svg_.rect(x, direction < 0 ? zero - kPadHeight : zero, width, kPadHeight, {paint},
              columns_.slot() > 6 ? stroke : std::string_view{});
  }

  const Picture& picture_;
  const Columns& columns_;
  Svg& svg_;
};

// The rows of the query tensor to scale: what a bar of one row hides behind a log scale.
double draw_row_strip(const Picture& picture, Svg& svg, double y) {
  const int64_t pads = picture.graph ? picture.graph->pad_rows : 0;
  const int64_t total = picture.num_rows + pads;
  if (total == 0 || picture.error) return y;
  y += 14;
  const auto x_of = [total](int64_t row) {
    return kPlotLeft + (kRight - kPlotLeft) * static_cast<double>(row) / static_cast<double>(total);
  };
  svg.text(kMargin - 8, y + 9, "query tensor", kSmallSize, kInk, Anchor::kStart, true);
  svg.text(kMargin - 8, y + 21, "to scale", kSmallSize, kQuiet);
  for (size_t i = 0; i < picture.segments.size(); ++i) {
    const attnplan_segment& s = picture.segments[i].figures;
    const double left = x_of(s.row_begin);
    const double width = x_of(s.row_end) - left;
    svg.rect(left, y, width, 20, {color_of(s.route)}, kBackground);
    const int64_t rows = int64_t{s.row_end} - s.row_begin;
    const std::string text = fmt::format("{}: {} row{}", i + 1, rows, rows == 1 ? "" : "s");
    const std::string number = fmt::format("{}", i + 1);
    const bool fits = text_width(text, kSmallSize) < width - 6;
    if (fits || text_width(number, kSmallSize) < width - 4) {
      svg.text(left + width / 2, y + 14, fits ? text : number, kSmallSize, "#ffffff",
               Anchor::kMiddle, true);
    }
  }
  if (pads > 0) {
    const double left = x_of(picture.num_rows);
    svg.rect(left, y, kRight - left, 20, {kGraphPadPaint}, kGraphPadStroke);
  }
  return y + 24;
}

}  // namespace

double draw_batch(const Picture& picture, Svg& svg, double y) {
  if (picture.requests.empty()) {
    svg.text(kMargin, y + 20, "No requests: an empty batch has an empty plan.", kTextSize, kQuiet);
    return draw_row_strip(picture, svg, y + 26);
  }
  const Columns columns(picture);
  const double feet = draw_brackets(picture, columns, svg, y);
  const double baseline = feet + 16 + kQueryHeight;
  BatchCharts charts(picture, columns, svg);
  charts.draw_query_rows(baseline);
  charts.draw_marks(baseline + 3);
  charts.draw_positions(baseline + 22);
  const double ceiling = baseline + kLabelHeight;
  const bool ticks = charts.draw_narrow_pads(ceiling - kTickHeight - 2);
  charts.draw_seq_lens(ceiling);
  y = ceiling + kSeqHeight + 18;
  if (columns.aggregated()) {
    std::string text =
        "a bar stands for several neighbouring requests: solid is their mean, pale the longest";
    if (ticks) text += "; dark ticks above the KV lengths are pads between them";
    svg.text(kPlotLeft, y + 2, text, kSmallSize, kQuiet);
    y += 10;
  }
  return draw_row_strip(picture, svg, y);
}

}  // namespace attnplan::tool
