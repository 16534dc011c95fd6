// Block-table checks: width, clamp of draft steps, ids; and given slots.
#pragma once

#include <memory_resource>
#include <vector>

#include "attnplan/planner.h"
#include "attnplan_plan_format.h"
#include "planner/isa.h"

namespace attnplan {

// Tokens that every row of a dense table can hold, at most INT32_MAX; INT32_MAX where rows differ
// (CSR) or there is no table.
int32_t uniform_capacity(const Group& group, int32_t block_size);

struct BlockTableInput {
  const Group* group;
  const KvCache* cache;
  const int32_t* query_lens;  // [num_reqs] rows; pads are not checked
  const int32_t* seq_lens;    // [num_reqs] tokens
  int32_t num_reqs;
};

int64_t row_stride_of(const Group& group);
int64_t columns_of(const Group& group, int32_t request);
const int32_t* ids_of(const Group& group, int32_t request);
int32_t blocks_for(int32_t seq_len, int32_t block_size);

// Columns of the widest row.
int64_t widest_row(const Group& group, int32_t num_reqs);

// Token address `slot` of the logical cache in the storage: packed blocks lie two blocks apart.
// Negative slots stay as they are, decided before any division.
int64_t rebase_slot(int64_t slot, const KvCache& cache);

// INVALID_ARGUMENT where a CSR table's indptr starts below 0 or decreases: nothing else says how
// many ids there are.
Status check_indptr(const BlockTableInput& in, Error* error);

// BLOCK_TABLE_TOO_NARROW for the first live request whose row is too short.
Status check_width(const BlockTableInput& in, Error* error);

// Draft steps: copies seq_lens to `clamped`, cut to what each row holds, marks and warns of each
// cut. Returns whether anything was cut.
bool clamp_seq_lens(const BlockTableInput& in, int32_t* clamped, uint8_t* marks,
                    std::pmr::vector<attnplan_warning>* warnings);

// PAGE_OUT_OF_RANGE for the first live request with a bad id among its live blocks.
Status check_ids(const BlockTableInput& in, const Isa& isa, Error* error);

// The engine's slot of a row of the step.
int64_t given_slot(const Group& group, int64_t row);

// PAGE_OUT_OF_RANGE for the first given slot beyond the cache. Negative ones are pads. `cut`, which
// may be null, marks draft requests that `in.seq_lens` cuts: rows at or past that have no slot.
Status check_slots(const BlockTableInput& in, int64_t rows, const uint8_t* cut,
                   const int32_t* context_lens, Error* error);

}  // namespace attnplan
