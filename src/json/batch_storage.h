// What a batch document owns, and the readers of its parts.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnplan.h"
#include "json/reader.h"

namespace attnplan::json {

// Per-request arrays; empty optionals are absent keys.
struct StepArrays {
  std::optional<std::vector<int32_t>> query_lens;
  std::optional<std::vector<int32_t>> query_start_loc;
  std::optional<std::vector<int32_t>> seq_lens;
  std::optional<std::vector<int32_t>> num_computed_tokens;
  std::optional<std::vector<int32_t>> num_prompt_tokens;
  std::optional<std::vector<int32_t>> num_known_tokens;
  std::optional<std::vector<int32_t>> num_draft_tokens;
  std::optional<std::vector<uint8_t>> is_prefilling;
  std::optional<std::vector<uint8_t>> seq_len_exact;
  std::optional<std::vector<int64_t>> slot_mapping;  // [rows]
};

struct BlockTable {
  bool has_columns = false;
  bool has_rows = false;
  bool has_indptr = false;
  bool has_ids = false;
  int32_t columns = 0;
  std::vector<int32_t> row_sizes;
  std::vector<int32_t> ids;  // row by row, or of the CSR form
  std::vector<int32_t> indptr;
  std::vector<WideInt> wide_ids;     // of `ids`, by index
  std::vector<WideInt> wide_starts;  // of `indptr`
  bool check_ids = true;
};

struct BatchStorage {
  std::string name;
  std::optional<std::string> expect;
  std::string origin;
  std::string layout_origin;
  std::string sections_origin;
  std::string config_text;
  std::optional<RangeFault> cache_fault;
  std::optional<RangeFault> request_fault;
  std::optional<RangeFault> scalar_fault;

  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  attnplan_kv_cache kv_cache = ATTNPLAN_KV_CACHE_INIT;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  attnplan_group group = ATTNPLAN_GROUP_INIT;

  StepArrays arrays;
  BlockTable table;
  // Deques: their elements never move, so the structs above may point at them.
  std::deque<attnplan_contract> contracts;
  std::vector<const attnplan_contract*> contract_pointers;
  std::deque<std::vector<int32_t>> lists;
  std::deque<std::vector<const char*>> string_lists;
  std::deque<std::string> strings;

  const char* keep(std::string_view text) { return strings.emplace_back(text).c_str(); }
};

// Readers of the members of the top level that are objects themselves.
void read_backend(Reader& reader, const Place& place, BatchStorage& batch);
void read_kv_cache(Reader& reader, const Place& place, BatchStorage& batch);
void read_block_table(Reader& reader, const Place& place, BatchStorage& batch);
void read_options(Reader& reader, const Place& place, BatchStorage& batch);
void read_graph(Reader& reader, const Place& place, BatchStorage& batch);
void read_heads(Reader& reader, const Place& place, BatchStorage& batch);
void read_limits(Reader& reader, const Place& place, BatchStorage& batch);
void read_device(Reader& reader, const Place& place, BatchStorage& batch);
void read_context_parallel(Reader& reader, const Place& place, BatchStorage& batch);
void read_features(Reader& reader, const Place& place, BatchStorage& batch);

// What options ask for and the rest of the document does not give.
void check_options(Reader& reader, const Place& root, BatchStorage& batch);

// A list of integers that the batch keeps.
attnplan_int32_list read_int_list(Reader& reader, const Place& place, BatchStorage& batch);
attnplan_string_list read_string_list(Reader& reader, const Place& place, BatchStorage& batch);

struct OffsetLimit {
  attnplan_offset_unit unit = ATTNPLAN_OFFSET_NONE;
  int64_t max = 0;
};
OffsetLimit read_offset_limit(Reader& reader, const Place& place);

// Points the group at the table, once the number of requests is known.
void finish_block_table(Reader& reader, const Place& place, BatchStorage& batch);

}  // namespace attnplan::json
