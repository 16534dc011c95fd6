// Context length and class of every request, and which lengths the host only bounds.
#pragma once

#include "attnplan/planner.h"
#include "planner/isa.h"
#include "planner/lanes.h"
#include "planner/lengths.h"

namespace attnplan {

inline bool is_dummy_phase(Phase phase) {
  return phase == Phase::kCapture || phase == Phase::kIdle;
}

// Both flags true and no seq_len_exact false for a live request: lengths must add up.
bool all_lengths_exact(const Step& step, const Lengths& lengths);

// Fills *result and the lanes of exact requests in the step's order.
void scan_step(const Config& config, const Step& step, const Lengths& lengths, const Isa& isa,
               Scratch::Buffers& buffers, ScanResult* result, Lanes* lanes);

// True where rule 2 applies: the request is still prefilling, or was resumed after preemption.
bool continues_prompt(const Step& step, int32_t request, int32_t context_len);

// Class decode by rule 3: it may hold drafts. Not for the phases capture and idle.
bool is_verify(const Step& step, const Lanes& lanes, int32_t request);

// Verify rows of the step (class decode by rule 3), whose split over requests the device decides
// where query lengths are inexact.
struct VerifyRows {
  int64_t rows = 0;
  int32_t requests = 0;
  int32_t bound = 0;  // rows one of them may bring at most
};
VerifyRows verify_rows(const Config& config, const Step& step, const Lanes& lanes);

// Sets lanes->inexact and lanes->query_bound; needs the other arrays.
void classify_exactness(const Config& config, const Step& step, Scratch::Buffers& buffers,
                        Lanes* lanes);

}  // namespace attnplan
