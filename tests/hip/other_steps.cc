#include "hip/other_steps.h"

#include <algorithm>

#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using property::Dice;

constexpr int32_t kMostRows = 8;  // of a decode: the decode threshold

void count_rows(Step* step) {
  step->row_begin.assign(1, 0);
  for (const int32_t rows : step->query_lens) {
    step->row_begin.push_back(step->row_begin.back() + rows);
  }
}

// Any block will do behind the ids of the truth: nothing may be read there.
void fill_blocks(Step* step) {
  step->block_ids.resize(static_cast<size_t>(int64_t{step->requests()} * step->columns), 0);
  for (int32_t& id : step->block_ids) {
    if (id < 0 || id >= step->num_blocks) id = 0;
  }
}

}  // namespace

Step without_tokens(const Description& d, const Step& step) {
  Dice dice(d.seed * 0x9e3779b97f4a7c15u + 3);
  Step out = step;
  const int32_t one = dice.in32(0, step.requests() - 1);
  for (int32_t r = 0; r < step.requests(); ++r) {
    if (r == one || dice.percent(30)) out.seq_lens[static_cast<size_t>(r)] = 0;
  }
  return out;
}

Step draw_shares(const Description& d, const Step& step) {
  Dice dice(d.seed * 0x9e3779b97f4a7c15u + 4);
  Step out = step;
  out.exact = out.exact_rows = false;
  for (int32_t r = 0; r < step.requests(); ++r) {
    const auto at = static_cast<size_t>(r);
    if (step.query_lens[at] > 0) continue;
    out.query_lens[at] = 1;
    const auto donor = std::find_if(out.query_lens.begin(), out.query_lens.end(),
                                    [](int32_t rows) { return rows > 1; });
    if (donor != out.query_lens.end() && dice.percent(70)) --*donor;
  }
  if (out.query_lens.back() < kMostRows && dice.percent(50)) ++out.query_lens.back();
  for (int32_t r = 0; r < step.requests(); ++r) {
    const auto at = static_cast<size_t>(r);
    const int32_t least = std::max(step.seq_lens[at], out.query_lens[at]) + 1;
    const int32_t most = step.columns * step.block_size;
    out.seq_lens[at] = std::min(most, least + dice.in32(0, 5));
  }
  count_rows(&out);
  fill_blocks(&out);
  if (d.graph_pads >= 0) out.graph_rows = static_cast<int32_t>(out.rows()) + d.graph_pads;
  return out;
}

Step draw_other(const Step& step) {
  Step out = step;
  out.phase = ATTNPLAN_PHASE_TARGET;
  out.query_lens = {1, 10, 10};  // a decode, an extend, a prefill
  out.seq_lens = {4, 12, 10};
  count_rows(&out);
  out.block_ids.clear();
  fill_blocks(&out);
  return out;
}

}  // namespace attnplan::hip_test
