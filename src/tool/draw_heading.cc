#include <fmt/format.h>

#include <array>

#include "tool/draw_batch.h"
#include "tool/draw_style.h"

namespace attnplan::tool {
namespace {

struct Share {
  int64_t requests = 0;
  int64_t rows = 0;
};

std::string text_of(std::string_view what, const Share& share) {
  return fmt::format("{}: {} request{}, {} row{}", what, share.requests,
                     share.requests == 1 ? "" : "s", share.rows, share.rows == 1 ? "" : "s");
}

class Legend {
 public:
  Legend(Svg& svg, double y) : svg_(svg), y_(y) {}

  void add(std::string_view paint, std::string_view stroke, std::string_view text) {
    const double width = text_width(text, kTextSize) + 40;
    if (x_ > kMargin && x_ + width > kRight) {
      x_ = kMargin;
      y_ += kLineHeight;
    }
    svg_.rect(x_, y_ - 10, 14, 12, {paint}, stroke, 2);
    svg_.text(x_ + 20, y_, text, kTextSize, kInk);
    x_ += width;
  }
  double end() const { return y_; }

 private:
  Svg& svg_;
  double x_ = kMargin;
  double y_;
};

std::string graph_text(const DrawnGraph& graph) {
  if (graph.requests < 0) return fmt::format("graph pads: {} rows", graph.pad_rows);
  return text_of("graph pads", {graph.pad_requests, graph.pad_rows});
}

}  // namespace

double draw_heading(const Picture& picture, Svg& svg, double y) {
  const double width = kRight - kMargin;
  y += 30;
  svg.text(kMargin, y, fit_text(picture.title, kTitleSize, width), kTitleSize, kInk, Anchor::kStart,
           true);
  if (!picture.has_batch) return y + 8;
  y += 20;
  svg.text(kMargin, y, fit_text(picture.subtitle, kTextSize, width), kTextSize, kQuiet);
  std::array<Share, 4> shares{};
  for (const DrawnRequest& request : picture.requests) {
    const bool unplanned = picture.error && request.query_len > 0;
    Share& share = shares[unplanned ? 1 : static_cast<size_t>(request.route)];
    ++share.requests;
    share.rows += request.query_len;
  }
  Legend legend(svg, y + 26);
  if (picture.error) {
    legend.add(kUnplannedColor, {}, text_of("without a plan", shares[1]));
  } else {
    for (const attnplan_route route :
         {ATTNPLAN_ROUTE_DECODE, ATTNPLAN_ROUTE_EXTEND, ATTNPLAN_ROUTE_PREFILL}) {
      const Share& share = shares[static_cast<size_t>(route)];
      if (share.requests > 0) {
        legend.add(color_of(route), {}, text_of(attnplan_route_name(route), share));
      }
    }
  }
  if (shares[0].requests > 0) {
    legend.add(
        kPadPaint, kPadStroke,
        fmt::format("pad: {} request{}", shares[0].requests, shares[0].requests == 1 ? "" : "s"));
  }
  if (picture.graph && picture.graph->pad_rows > 0) {
    legend.add(kGraphPadPaint, kGraphPadStroke, graph_text(*picture.graph));
  }
  return legend.end() + 14;
}

}  // namespace attnplan::tool
