#include "section_batch.h"

#include <algorithm>

#include "dice.h"
#include "names.h"

namespace attnplan::sections_test {
namespace {

using oracle::Json;
using property::Dice;

const oracle::Names kSectionNames = {
    {"query_start_loc", ATTNPLAN_SECTION_QUERY_START_LOC},
    {"seq_lens", ATTNPLAN_SECTION_SEQ_LENS},
    {"context_lens", ATTNPLAN_SECTION_CONTEXT_LENS},
    {"row_request", ATTNPLAN_SECTION_ROW_REQUEST},
    {"row_position", ATTNPLAN_SECTION_ROW_POSITION},
    {"page_indptr", ATTNPLAN_SECTION_PAGE_INDPTR},
    {"page_indices", ATTNPLAN_SECTION_PAGE_INDICES},
    {"last_page_len", ATTNPLAN_SECTION_LAST_PAGE_LEN},
    {"page_table", ATTNPLAN_SECTION_PAGE_TABLE},
    {"slots", ATTNPLAN_SECTION_SLOTS},
    {"chunks", ATTNPLAN_SECTION_CHUNKS},
    {"chunk_token_to_request", ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST},
    {"window", ATTNPLAN_SECTION_WINDOW},
    {"local", ATTNPLAN_SECTION_LOCAL},
    {"context_parallel", ATTNPLAN_SECTION_CONTEXT_PARALLEL},
    {"launch", ATTNPLAN_SECTION_LAUNCH}};

int64_t slot_of(const Batch& batch, const Extras& extras, int64_t row) {
  Dice dice(extras.seed * 7919 + static_cast<uint64_t>(row));
  if (dice.percent(15)) return -dice.in(1, 300);
  const int64_t tokens = int64_t{batch.kv_cache->num_blocks} * batch.kv_cache->block_size;
  if (extras.seed % 8 == 0 && dice.percent(10)) {  // beyond the cache
    const int64_t most = extras.slots_int64 ? INT64_MAX : INT32_MAX;
    return std::min(most, tokens + dice.in(0, 9));
  }
  return dice.in(0, tokens - 1);
}

void set_tiles(const Extras& extras, size_t index, attnplan_contract* contract) {
  Dice dice(extras.seed * 104729 + index);
  contract->query_tile = dice.pick<int32_t>({0, 1, 16, 64, 100});
  contract->num_splits = dice.pick<int32_t>({0, 0, 1, 8, 16});
}

void put_options(const attnplan_config& config, Json* out) {
  Json& options = (*out)["options"];
  options["sections"] = Json::array();
  for (const auto& [name, id] : kSectionNames) {
    if ((config.sections >> id & 1u) != 0) options["sections"].push_back(name);
  }
  if (config.chunk_policy == ATTNPLAN_CHUNKS_EQUAL) options["chunk_policy"] = "equal";
  if (config.chunk_workspace_tokens > 0) {
    options["chunk_workspace_tokens"] = config.chunk_workspace_tokens;
  }
  if (config.section_layout == ATTNPLAN_SECTIONS_FIXED) options["layout"] = "fixed";
  if (config.section_layout == ATTNPLAN_SECTIONS_COMPACT) options["layout"] = "compact";
  if (config.local_attention_chunk > 0) {
    (*out)["local_attention_chunk"] = config.local_attention_chunk;
  }
  if (config.context_parallel_world > 0) {
    (*out)["context_parallel"] = {{"world", config.context_parallel_world},
                                  {"rank", config.context_parallel_rank}};
    if (config.context_parallel_interleave > 0) {
      (*out)["context_parallel"]["interleave"] = config.context_parallel_interleave;
    }
  }
}

void put_graph(const Batch& batch, Json* out) {
  if (batch.graph_full.empty() && batch.graph_piecewise.empty()) return;
  (*out)["graph"]["full"] = batch.graph_full;
  (*out)["graph"]["piecewise"] = batch.graph_piecewise;
}

}  // namespace

int64_t num_rows(const Batch& batch) {
  if (batch.as_offsets) return batch.query.back();
  int64_t rows = 0;
  for (int32_t query : batch.query) rows += query;
  return rows;
}

SectionStructs::SectionStructs(const Batch& batch, const Extras& extras)
    : structs_(batch), config_(structs_.config()), has_group_(structs_.group() != nullptr) {
  if (has_group_) group_ = *structs_.group();
  if (extras.slots && batch.kv_cache) {
    has_group_ = true;
    for (int64_t row = 0; row < num_rows(batch); ++row) {
      slots_.push_back(slot_of(batch, extras, row));
      slots_int32_.push_back(static_cast<int32_t>(slots_.back()));
    }
    slots_.reserve(1);
    slots_int32_.reserve(1);  // an empty mapping is there all the same
    group_.slot_mapping = slots_int32_.data();
    if (extras.slots_int64) {
      group_.slot_mapping = slots_.data();
      group_.flags |= ATTNPLAN_GROUP_SLOTS_INT64;
    }
  }
  for (size_t i = 0; i < config_.num_contracts; ++i) {
    contracts_.push_back(*config_.contracts[i]);
    set_tiles(extras, i, &contracts_.back());
  }
  for (const attnplan_contract& contract : contracts_) contract_pointers_.push_back(&contract);
  if (config_.contracts != nullptr) config_.contracts = contract_pointers_.data();
}

std::string to_document(const Batch& batch, const Extras& extras) {
  Json out = oracle::batch_to_json(batch);
  const SectionStructs structs(batch, extras);
  put_options(batch.config, &out);
  put_graph(batch, &out);
  if (extras.slots && batch.kv_cache) out["slot_mapping"] = structs.slots();
  for (size_t i = 0; i < structs.config().num_contracts; ++i) {
    const attnplan_contract& contract = *structs.config().contracts[i];
    Json& kernel = out["backend"]["kernels"][i];
    if (contract.query_tile > 0) kernel["query_tile"] = contract.query_tile;
    if (contract.num_splits > 0) kernel["num_splits"] = contract.num_splits;
  }
  return out.dump();
}

}  // namespace attnplan::sections_test
