#include "planner/step_scan.h"

#include "planner/hash.h"
#include "planner/order.h"
#include "planner/scratch.h"
#include "planner/validate.h"

namespace attnplan {

uint64_t identify_step(const Step& step, const Lengths& lengths, int32_t num_live, const Isa& isa) {
  const bool add_up = step.num_computed_tokens != nullptr && num_live == step.num_reqs &&
                      all_lengths_exact(step, lengths);
  return hash_step(step, add_up, isa);
}

Status scan_and_validate(const Planner::State& state, const Step& step, Scratch::Buffers& buffers,
                         StepScan* scan, Error* error) {
  scan->ready = false;
  scan->step = &step;
  scan->key = scan_key(state.config);
  scan->lengths = resolve_lengths(step, *state.isa, buffers);
  const ScannedStep scanned = scan_step(state.config, step, scan->lengths, *state.isa, buffers);
  scan->marks = scanned.result;
  scan->lanes = Lanes{};
  scan->lanes.n = step.num_reqs;
  scan->lanes.rows = scan->marks.rows;
  scan->lanes.query_lens = scan->lengths.query_lens;
  scan->lanes.seq_lens = scan->lengths.seq_lens;
  scan->lanes.context_lens = scanned.context_lens;
  scan->lanes.classes = scanned.classes;
  return validate(state.config, step, scan->lengths, scan->marks, scan->lanes.context_lens,
                  scan->lanes.classes, error);
}

void finish_scan(const Planner::State& state, const Step& step, Scratch::Buffers& buffers,
                 StepScan* scan) {
  classify_exactness(state.config, step, buffers, &scan->lanes);
  if (state.config.order == Order::kSort) {
    sort_lanes(state.config, buffers, &scan->lanes, &scan->marks);
  }
  if (!scan->hashed)
    scan->hash = identify_step(step, scan->lengths, scan->marks.num_live, *state.isa);
  scan->hashed = true;
  scan->ready = true;
  buffers.routing.known_facts.clear();
}

}  // namespace attnplan
