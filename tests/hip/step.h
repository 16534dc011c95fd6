// The batch of a problem: lengths and block table, drawn from its description.
#pragma once

#include <cstdint>
#include <vector>

#include "hip/description.h"

namespace attnplan::hip_test {

struct Step {
  std::vector<int32_t> query_lens;
  std::vector<int32_t> seq_lens;   // before any clamp
  std::vector<int32_t> block_ids;  // [requests, columns]; nonsense behind the live ones
  attnplan_phase phase = ATTNPLAN_PHASE_TARGET;
  bool exact = true;       // else seq_lens are upper bounds
  bool exact_rows = true;  // else query_lens are how the host would share out their sum
  int32_t graph_rows = 0;  // of the full graph that the batch runs in; 0: of none
  int32_t block_size = 0;
  int32_t columns = 0;
  int32_t num_blocks = 0;  // of the cache

  // Derived.
  std::vector<int64_t> row_begin;  // [requests + 1]

  int32_t requests() const { return static_cast<int32_t>(query_lens.size()); }
  int64_t rows() const { return row_begin.back(); }
  // Tokens whose keys there are: a draft step ends with its block table. Pads have none.
  int64_t keys(int32_t request) const;
  // Position of a row of the request.
  int64_t position(int32_t request, int64_t row) const {
    return int64_t{seq_lens[request]} - query_lens[request] + row;
  }
  int32_t block(int32_t request, int64_t token) const {
    return block_ids[static_cast<size_t>(int64_t{request} * columns + token / block_size)];
  }
};

Step draw_step(const Description& description);

// What a host believes that cannot wait for the device: the same batch with lengths that hold more
// drafts than were accepted.
Step draw_bounds(const Description& description, const Step& step);

}  // namespace attnplan::hip_test
