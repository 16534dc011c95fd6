// The charts of a batch. Every function draws below `y` and returns where it ended.
#pragma once

#include "tool/draw_model.h"
#include "tool/svg.h"

namespace attnplan::tool {

// Title, what the planner was told, and what the colours mean with how much there is of each.
double draw_heading(const Picture& picture, Svg& svg, double y);

// Query rows of every request, segment brackets above, KV lengths below, and the rows of the query
// tensor to scale.
double draw_batch(const Picture& picture, Svg& svg, double y);

}  // namespace attnplan::tool
