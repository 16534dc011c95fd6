// Colours, sizes and fill patterns of the drawings.
#pragma once

#include <string_view>

#include "attnplan.h"
#include "tool/svg.h"

namespace attnplan::tool {

inline constexpr double kDrawingWidth = 1120;
inline constexpr double kMargin = 24;
inline constexpr double kPlotLeft = 126;  // right of titles and axes
inline constexpr double kRight = kDrawingWidth - kMargin;
inline constexpr double kPlotRight = kRight - 126;  // labels of the last segments stand behind it
inline constexpr double kPlotWidth = kPlotRight - kPlotLeft;

inline constexpr double kTitleSize = 18;
inline constexpr double kHeadingSize = 13;
inline constexpr double kTextSize = 12;
inline constexpr double kSmallSize = 10;
inline constexpr double kLineHeight = 18;

// The drawing brings its own background, so that it reads the same on a light and on a dark page.
inline constexpr std::string_view kBackground = "#fcfcfa";
inline constexpr std::string_view kInk = "#1f2328";
inline constexpr std::string_view kQuiet = "#59636e";
inline constexpr std::string_view kFaint = "#d9dde2";
inline constexpr std::string_view kAlarm = "#c0252d";

// Told apart by brightness, too.
inline constexpr std::string_view kDecodeColor = "#1f6fb4";
inline constexpr std::string_view kExtendColor = "#e58a1f";
inline constexpr std::string_view kPrefillColor = "#7b4ba8";
inline constexpr std::string_view kUnplannedColor = "#8b949e";
inline constexpr std::string_view kPadPaint = "url(#pad)";
inline constexpr std::string_view kGraphPadPaint = "url(#graphpad)";
inline constexpr std::string_view kDroppedPaint = "url(#dropped)";
inline constexpr std::string_view kPadStroke = "#8b949e";
inline constexpr std::string_view kPadTick = "#59636e";
inline constexpr std::string_view kGraphPadStroke = "#3b8a5a";
inline constexpr std::string_view kKPaint = "#4a90c2";
inline constexpr std::string_view kVPaint = "#8fc1a3";

// Of the pads in the batch, the pads of a graph, and trimmed cache rows.
inline constexpr std::string_view kPatterns =
    R"x(<pattern id="pad" width="6" height="6" patternUnits="userSpaceOnUse")x"
    R"x( patternTransform="rotate(45)"><rect width="6" height="6" fill="#f0f1f3"/>)x"
    R"x(<rect width="2" height="6" fill="#a4acb5"/></pattern>)x"
    R"x(<pattern id="graphpad" width="8" height="8" patternUnits="userSpaceOnUse">)x"
    R"x(<rect width="8" height="8" fill="#eef6f0"/>)x"
    R"x(<path d="M0 0L8 8M8 0L0 8" stroke="#6fb088" stroke-width="1"/></pattern>)x"
    R"x(<pattern id="dropped" width="6" height="6" patternUnits="userSpaceOnUse")x"
    R"x( patternTransform="rotate(-45)"><rect width="6" height="6" fill="#fdf0f0"/>)x"
    R"x(<rect width="2" height="6" fill="#d9666c"/></pattern>)x";

constexpr std::string_view color_of(attnplan_route route) {
  switch (route) {
    case ATTNPLAN_ROUTE_DECODE:
      return kDecodeColor;
    case ATTNPLAN_ROUTE_EXTEND:
      return kExtendColor;
    case ATTNPLAN_ROUTE_PREFILL:
      return kPrefillColor;
    default:
      return kPadStroke;
  }
}

}  // namespace attnplan::tool
