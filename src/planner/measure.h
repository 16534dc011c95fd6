// Figures over the live requests of a range: measured, never assumed.
#pragma once

#include "planner/isa.h"
#include "planner/lanes.h"

namespace attnplan {

// `range` is not empty and starts and ends on a live request.
void measure(const Lanes& lanes, Range range, const Isa& isa, Facts* facts);

inline Facts measure(const Lanes& lanes, Range range, const Isa& isa) {
  Facts facts;
  measure(lanes, range, isa, &facts);
  return facts;
}

// The same from figures over exactly the live requests of `range`.
void make_facts(const Lanes& lanes, Range range, const MeasureResult& result, Facts* facts);

// Cuts pads off both ends; empty where no live request is inside.
Range trim(const Lanes& lanes, Range range);

// True where the device decides how many rows some request of the range brings.
bool has_inexact_query(const Lanes& lanes, Range range);

// Requests of inexact query length stand on both sides of this position: the device may give rows
// of one side to the other, and no range of rows that begins or ends here is certain.
bool rows_may_move_past(const Lanes& lanes, int32_t position);

}  // namespace attnplan
