// One call to the planner as data that owns its memory: what the generators make, what the JSON
// batch documents say, and what the C structs of a call are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnplan.h"
#include "contract.h"

namespace attnplan::oracle {

using Ints = std::vector<int32_t>;
using Bools = std::vector<uint8_t>;

struct BlockTable {
  int32_t columns = 0;         // dense, if > 0
  int64_t row_stride = 0;      // ids; 0: columns
  std::optional<Ints> ids;     // absent: only the width is known
  std::optional<Ints> indptr;  // CSR [n + 1]
  uint32_t flags = 0;          // ATTNPLAN_GROUP_*
};

struct Batch {
  std::string name;
  std::string profile = "aiter_mha";  // built in, or the label of `kernels`
  std::optional<std::vector<Contract>> kernels;
  std::string arch = "gfx950";
  std::optional<attnplan_kv_cache> kv_cache;
  attnplan_config config = ATTNPLAN_CONFIG_INIT;  // its scalars; pointers belong to BatchStructs
  attnplan_step step = ATTNPLAN_STEP_INIT;        // likewise

  bool as_offsets = false;  // `query` holds query_start_loc [n + 1] instead of query_lens [n]
  Ints query;
  std::optional<Ints> seq_lens;
  std::optional<Ints> num_computed_tokens;
  std::optional<Ints> num_prompt_tokens;
  std::optional<Ints> num_known_tokens;
  std::optional<Ints> num_draft_tokens;
  std::optional<Bools> is_prefilling;
  std::optional<Bools> seq_len_exact;
  std::optional<BlockTable> table;
  Ints graph_full, graph_piecewise;

  int32_t num_reqs() const;
};

// The C structs of a batch. They point into the batch and into this object, which must both live
// as long as they are used. Every array is non-null where the batch has it, even at n = 0.
class BatchStructs {
 public:
  explicit BatchStructs(const Batch& batch);
  BatchStructs(const BatchStructs&) = delete;
  BatchStructs& operator=(const BatchStructs&) = delete;

  const attnplan_config& config() const { return config_; }
  const attnplan_step& step() const { return step_; }
  const attnplan_group* group() const { return has_group_ ? &group_ : nullptr; }
  attnplan_config* mutable_config() { return &config_; }

 private:
  void add_contract(const Contract& contract);
  void fill_config(const Batch& batch);
  void fill_step(const Batch& batch);
  void fill_group(const BlockTable& table);

  std::vector<attnplan_contract> contracts_;
  std::vector<const attnplan_contract*> contract_pointers_;
  std::vector<std::vector<const char*>> archs_;
  attnplan_config config_ = ATTNPLAN_CONFIG_INIT;
  attnplan_step step_ = ATTNPLAN_STEP_INIT;
  attnplan_group group_ = ATTNPLAN_GROUP_INIT;
  bool has_group_ = false;
};

}  // namespace attnplan::oracle
