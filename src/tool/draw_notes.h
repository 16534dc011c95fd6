// What is to be said in words: why kernels were refused, what graph the step runs in, errors.
#pragma once

#include "tool/draw_model.h"
#include "tool/svg.h"

namespace attnplan::tool {

// The error of a refused batch, on top of everything else.
double draw_error(const Picture& picture, Svg& svg, double y);

double draw_notes(const Picture& picture, Svg& svg, double y);

}  // namespace attnplan::tool
