// order: sort - a stable permutation decode (widest first), short extends, other extends, prefills,
// pads.
#pragma once

#include "attnplan/planner.h"
#include "planner/isa.h"
#include "planner/lanes.h"

namespace attnplan {

// Replaces the arrays of `lanes` by sorted copies, sets lanes->order, and moves the marks of
// `scan`.
void sort_lanes(const Config& config, Scratch::Buffers& buffers, Lanes* lanes, ScanResult* scan);

}  // namespace attnplan
