// One scheduler step, as the engine's host arrays describe it. Nothing here owns memory.
#pragma once

#include <cstdint>

namespace attnplan {

enum class Phase : int32_t { kTarget = 0, kDraft = 1, kCapture = 2, kIdle = 3 };
enum class GraphMode : int32_t { kFull = 0, kPiecewise = 1, kNone = 2 };

// Lengths and state, shared by all KV groups. Arrays have num_reqs entries and may be null where
// that means "absent"; exactly one of query_lens and query_start_loc is given.
struct Step {
  int32_t num_reqs = 0;
  Phase phase = Phase::kTarget;
  bool query_lens_exact = true;
  bool seq_lens_exact = true;
  const int32_t* query_lens = nullptr;           // rows
  const int32_t* query_start_loc = nullptr;      // [num_reqs + 1] rows
  const int32_t* seq_lens = nullptr;             // tokens, this step's rows included
  const int32_t* num_computed_tokens = nullptr;  // tokens
  const int32_t* num_prompt_tokens = nullptr;
  const int32_t* num_known_tokens = nullptr;  // prompt plus accepted, never drafts
  const int32_t* num_draft_tokens = nullptr;
  const uint8_t* is_prefilling = nullptr;
  const uint8_t* seq_len_exact = nullptr;
  int32_t num_tokens = 0;     // rows; 0: not declared, likewise below
  int32_t max_query_len = 0;  // rows
  int32_t num_reqs_padded = 0;
  int32_t num_tokens_padded = 0;
  GraphMode graph_allow = GraphMode::kFull;
};

// What belongs to one KV group in this step. Dense: block_ids[request * row_stride + column]; CSR:
// block_indptr[num_reqs + 1] into block_ids; columns without ids: only the width is known.
struct Group {
  const int32_t* block_ids = nullptr;
  const int32_t* block_indptr = nullptr;
  int64_t row_stride = 0;  // ids
  int32_t columns = 0;
  int32_t tokens_per_id = 0;  // the unit of block_ids; 0: block_size
  bool check_ids = true;
  const void* slot_mapping = nullptr;  // [rows] token slots
  bool slots_int64 = false;

  bool has_table() const { return columns > 0 || block_indptr != nullptr || block_ids != nullptr; }
};

}  // namespace attnplan
