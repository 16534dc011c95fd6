// Cuts the batch into D (decodes), E (extends) and P (prefills), each from live to live request.
#pragma once

#include "planner/isa.h"
#include "planner/lanes.h"

namespace attnplan {

struct Parts {
  Range decode;   // the longest prefix of class decode or pad
  Range extend;   // what lies between
  Range prefill;  // the longest suffix, behind `decode`, of class prefill or pad
};

// `scan` holds the marks in plan order.
Parts segment(const Lanes& lanes, const ScanResult& scan);

}  // namespace attnplan
