// The plan of a step whose lengths only the device knows, finished on the host: what plan_refresh
// does to a plan, from the formulas of docs/planning.md. The oracle of that kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attnplan_plan_format.h"

namespace attnplan::cpu {

// What the device has. Requests in the order of the step; n of the plan.
struct DeviceStep {
  std::span<const int32_t> query_start_loc;  // [n + 1]
  std::span<const int32_t> seq_lens;         // [n]
  // Ids of blocks, or slots of tokens: at most one of the three. `table_rows` says which row is a
  // request's; empty: its own number.
  std::span<const int32_t> block_rows;  // [rows, stride], `columns` ids of each
  std::span<const int32_t> block_list;  // with block_indptr [n + 1]
  std::span<const int32_t> block_indptr;
  std::span<const int32_t> token_slots;  // [rows, stride], `columns` tokens of each
  std::span<const int64_t> table_rows;   // [n]
  int64_t stride = 0;
  int64_t columns = 0;
  std::span<const int64_t> slot_mapping;  // [rows]; empty: slots follow from the table
};

// What formulas need of the planner's configuration. 0: absent.
struct RefreshRules {
  uint64_t sections = 0;  // bits of section ids to write; 0: all
  bool causal = true;
  bool draft = false;  // lengths beyond the table are cut
  bool full_width_pads = false;
  bool packed = false;
  int64_t block_size = 0;
  int64_t page_size = 0;
  int64_t max_model_len = 0;
  int64_t sliding_window = 0;
  int64_t local_chunk = 0;
  int64_t context_world = 1;
  int64_t context_rank = 0;
  int64_t context_interleave = 1;
  int64_t group = 1;       // query heads per KV head
  int64_t query_tile = 0;  // packed rows and tokens; 0: as the plan's WORK says
  int64_t kv_tile = 0;
};

// What was wrong with the device's lengths; each was clamped.
struct RefreshFindings {
  bool bad_starts = false;
  bool row_count = false;
  bool bad_seq_len = false;
  bool too_long = false;
  bool capacity = false;
  bool chunks = false;
};

// `plan` is a sound plan; its sections are rewritten in place, inside their capacities.
RefreshFindings refresh(std::span<std::byte> plan, const DeviceStep& step,
                        const RefreshRules& rules);

}  // namespace attnplan::cpu
