// The structs of one planner and one step, decoded from the fuzzer's bytes.
#pragma once

#include <cstdint>

#include "attnplan.h"
#include "bytes.h"

namespace attnplan::fuzz {

struct StructInput {
  const attnplan_config* config = nullptr;
  const attnplan_step* step = nullptr;
  const attnplan_group* group = nullptr;  // may be null
  int64_t num_reqs = 0;                   // of the step's arrays
  int64_t num_rows = 0;                   // sum of the query lengths that are positive
  int64_t max_tokens = 0;                 // largest sequence length or context
  bool per_token = false;   // asks for sections that grow with tokens, or for a work list
  uint32_t fail_after = 0;  // allocations through the hooks that succeed; 0: all
};

StructInput decode(Bytes* bytes, Heap* heap, const attnplan_allocator* allocator);

}  // namespace attnplan::fuzz
