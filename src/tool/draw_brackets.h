// Which kernel serves whom: brackets above the requests, and a table with every figure.
#pragma once

#include "tool/draw_model.h"
#include "tool/draw_scale.h"
#include "tool/svg.h"

namespace attnplan::tool {

// Labels stand above their brackets, on as many levels as they need. Returns the y of the brackets'
// feet, where the charts begin.
double draw_brackets(const Picture& picture, const Columns& columns, Svg& svg, double y);

// One line a segment.
double draw_segment_table(const Picture& picture, Svg& svg, double y);

}  // namespace attnplan::tool
