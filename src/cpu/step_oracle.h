// The oracle over a whole step: straight from the batch, row by row, without plan, order or pages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnplan.h"
#include "cpu/block_table.h"
#include "cpu/lengths.h"
#include "cpu/output.h"
#include "cpu/shape.h"
#include "cpu/values.h"

namespace attnplan::cpu {

struct OracleInput {
  const Values& values;
  AttentionShape shape;
  std::optional<M3Params> sparse;
  const Lengths& lengths;
  const Origins& origins;                  // whose vectors the cache holds, where blocks are shared
  const std::vector<int64_t>& token_room;  // [n] tokens that the block table has room for
  const std::vector<bool>& compute;        // [rows]
};

// [n] tokens: what a draft step's block table has room for; everywhere else no bound.
std::vector<int64_t> token_room(const attnplan_config& config, const attnplan_step& step,
                                const attnplan_group* group);

// Rows in the step's order; those not computed stay poisoned.
Output oracle(const OracleInput& input);

}  // namespace attnplan::cpu
