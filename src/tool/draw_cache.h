// The K/V cache as its pages lie in memory, and what a kernel is handed of them.
#pragma once

#include "attnplan.h"
#include "tool/svg.h"

namespace attnplan::tool {

// Draws below `y`, returns where it ended. `arch` as in attnplan_config.
double draw_cache(const attnplan_kv_cache& cache, const attnplan_kv_view& view, const char* arch,
                  Svg& svg, double y);

}  // namespace attnplan::tool
