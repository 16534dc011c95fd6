// The checks of docs/planning.md, "Validation", up to the block table. The scan only notices that
// something may be wrong; these find the first check that fails and its lowest request.
#pragma once

#include "attnplan/planner.h"
#include "planner/isa.h"
#include "planner/lengths.h"

namespace attnplan {

// `context_lens` and `classes` are the scan's, in the step's order.
Status validate(const Config& config, const Step& step, const Lengths& lengths,
                const ScanResult& scan, const int32_t* context_lens, const int32_t* classes,
                Error* error);

}  // namespace attnplan
