#include "planner/step_scan.h"

#include "planner/hash.h"
#include "planner/order.h"
#include "planner/scratch.h"
#include "planner/validate.h"

namespace attnplan {

uint64_t step_identity(const Planner::State& state, const Step& step, Scratch::Buffers& buffers) {
  const Lengths lengths = resolve_lengths(step, *state.isa, buffers);
  ScanResult result;
  Lanes lanes;
  scan_step(state.config, step, lengths, *state.isa, buffers, &result, &lanes);
  return hash_step(step, result.prints, *state.isa);
}

Status scan_and_validate(const Planner::State& state, const Step& step, Scratch::Buffers& buffers,
                         StepScan* scan, Error* error) {
  scan->ready = false;
  scan->step = &step;
  scan->key = scan_key(state.config);
  scan->lengths = resolve_lengths(step, *state.isa, buffers);
  scan_step(state.config, step, scan->lengths, *state.isa, buffers, &scan->marks, &scan->lanes);
  return validate(state.config, step, scan->lengths, scan->marks, scan->lanes.context_lens,
                  scan->lanes.classes, error);
}

void finish_scan(const Planner::State& state, const Step& step, Scratch::Buffers& buffers,
                 StepScan* scan) {
  classify_exactness(state.config, step, buffers, &scan->lanes);
  if (state.config.order == Order::kSort) {
    sort_lanes(state.config, buffers, &scan->lanes, &scan->marks);
  }
  scan->hash = hash_step(step, scan->marks.prints, *state.isa);
  scan->ready = true;
  buffers.routing.known_facts.clear();
}

}  // namespace attnplan
