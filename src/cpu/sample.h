// Which rows of a step are worth computing when not all can be.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/lengths.h"

namespace attnplan::cpu {

// [rows] in the step's order. The first and the last row of every request, where wrong mappings
// show first, and as many others as `max_rows` leaves room for, spread evenly. 0: all rows.
std::vector<bool> sample_rows(const Lengths& lengths, int64_t max_rows);

}  // namespace attnplan::cpu
