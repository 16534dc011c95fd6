// The loops over requests for a handful of them, where setting vectors up costs more than they
// save. Same results as the loops of isa_loops.inc (tested against them).
#pragma once

#include "planner/isa.h"

namespace attnplan {

inline constexpr int32_t kShortBatch = 4;

void scan_short(const ScanInput& in, int32_t* context_lens, int32_t* classes, ScanResult* result);
void measure_short(const int32_t* query_lens, const int32_t* seq_lens, const int32_t* context_lens,
                   int32_t n, MeasureResult* result);

}  // namespace attnplan
