#include "planner/lengths.h"

#include "planner/scratch.h"

namespace attnplan {

Lengths resolve_lengths(const Step& step, const Isa& isa, Scratch::Buffers& buffers) {
  Lengths lengths;
  const auto n = static_cast<size_t>(step.num_reqs);
  if (step.query_start_loc != nullptr) {
    int32_t* query_lens = buffers.query_lens.fit(n);
    lengths.starts_decrease = isa.query_lens(step.query_start_loc, step.num_reqs, query_lens);
    lengths.query_lens = query_lens;
  } else {
    lengths.query_lens = step.query_lens;
  }
  lengths.seq_lens = step.seq_lens;
  if (step.seq_lens == nullptr && n > 0) {
    int32_t* seq_lens = buffers.seq_lens.fit(n);
    for (size_t i = 0; i < n; ++i) {
      // A sum beyond int32 is diagnosed from the two terms, so it may wrap here.
      seq_lens[i] = static_cast<int32_t>(static_cast<uint32_t>(step.num_computed_tokens[i]) +
                                         static_cast<uint32_t>(lengths.query_lens[i]));
    }
    lengths.seq_lens = seq_lens;
  }
  return lengths;
}

}  // namespace attnplan
