// A plan that the command does not hold in memory, in words for whoever wrote the document.
#pragma once

#include <cstdint>
#include <string>

#include "attnplan.h"

namespace attnplan::json {

// More than any device copies per step; a fixed layout of absurd limits is beyond it.
inline constexpr int64_t kLargestPlanBytes = int64_t{4} << 30;

// Names the limits that make a fixed layout so large.
std::string why_too_large(const attnplan_config& config, int64_t bytes);

}  // namespace attnplan::json
