// A step scanned, checked, classified and ordered: what all planners that agree on the key share.
#pragma once

#include "planner/classify.h"
#include "planner/lanes.h"
#include "planner/state.h"

namespace attnplan {

// What of a planner's configuration decides how a step is read.
struct ScanKey {
  int32_t decode_threshold;
  Mask mask;
  bool short_extend_decode;
  Order order;
  bool operator==(const ScanKey&) const = default;
};

inline ScanKey scan_key(const Config& config) {
  return {config.decode_threshold, config.mask, config.short_extend_decode, config.order};
}

struct StepScan {
  const Step* step = nullptr;
  ScanKey key{};
  bool ready = false;  // lanes, marks and facts are those of `step` under `key`
  uint64_t hash = 0;
  Lengths lengths;
  ScanResult marks;  // in plan order once ready
  Lanes lanes;
};

// The hash that a plan of this step carries.
uint64_t step_identity(const Planner::State& state, const Step& step, Scratch::Buffers& buffers);

// Scans and validates. Errors: the codes up to QUERY_DRAFT_MISMATCH.
Status scan_and_validate(const Planner::State& state, const Step& step, Scratch::Buffers& buffers,
                         StepScan* scan, Error* error);

// Exactness and order; then the scan is ready.
void finish_scan(const Planner::State& state, const Step& step, Scratch::Buffers& buffers,
                 StepScan* scan);

}  // namespace attnplan
