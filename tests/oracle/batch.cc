#include "batch.h"

namespace attnplan::oracle {
namespace {

// Stands in for the data of an empty array: the call must know "there, and empty" from "absent".
const int32_t kNoInts[1] = {0};
const uint8_t kNoBools[1] = {0};
const char* const kNoStrings[1] = {nullptr};

const int32_t* data_of(const std::optional<Ints>& ints) {
  if (!ints) return nullptr;
  return ints->empty() ? kNoInts : ints->data();
}

const uint8_t* data_of(const std::optional<Bools>& bools) {
  if (!bools) return nullptr;
  return bools->empty() ? kNoBools : bools->data();
}

attnplan_int32_list list_of(const IntList& list) {
  return {data_of(list), list ? list->size() : 0};
}

}  // namespace

int32_t Batch::num_reqs() const {
  const int32_t entries = static_cast<int32_t>(query.size());
  return as_offsets ? entries - 1 : entries;
}

BatchStructs::BatchStructs(const Batch& batch) {
  fill_config(batch);
  fill_step(batch);
  if (batch.table) fill_group(*batch.table);
}

void BatchStructs::add_contract(const Contract& from) {
  attnplan_contract to = ATTNPLAN_CONTRACT_INIT;
  to.name = from.name.c_str();
  to.route = from.route;
  to.flags = from.flags;
  to.query_lens = list_of(from.query_lens);
  to.groups = list_of(from.groups);
  to.head_sizes = list_of(from.head_sizes);
  to.v_head_sizes = list_of(from.v_head_sizes);
  to.block_sizes = list_of(from.block_sizes);
  to.page_sizes = list_of(from.page_sizes);
  if (from.archs) {
    std::vector<const char*> names;
    for (const std::string& arch : *from.archs) names.push_back(arch.c_str());
    archs_.push_back(std::move(names));
    const std::vector<const char*>& kept = archs_.back();
    to.archs = {kept.empty() ? kNoStrings : kept.data(), kept.size()};
  }
  to.masks = from.masks;
  to.features = from.features;
  to.dtypes = from.dtypes;
  to.layouts = from.layouts;
  to.scales = from.scales;
  to.max_query_len = from.max_query_len;
  to.max_query_len_x_group = from.max_query_len_x_group;
  to.context = from.context;
  to.min_requests = from.min_requests;
  to.max_requests = from.max_requests;
  to.max_seq_len = from.max_seq_len;
  to.tile_tokens = from.tile_tokens;
  to.dtype_label = from.dtype_label;
  to.pads = from.pads;
  to.graph = from.graph;
  to.offset_unit = from.offset_unit;
  to.offset_max = from.offset_max;
  contracts_.push_back(to);
}

void BatchStructs::fill_config(const Batch& batch) {
  config_ = batch.config;
  config_.profile = batch.profile.c_str();
  config_.arch = batch.arch.c_str();
  if (batch.kv_cache) config_.kv_cache = &*batch.kv_cache;
  config_.graph_full = {batch.graph_full.data(), batch.graph_full.size()};
  config_.graph_piecewise = {batch.graph_piecewise.data(), batch.graph_piecewise.size()};
  if (!batch.kernels) return;
  archs_.reserve(batch.kernels->size());
  for (const Contract& kernel : *batch.kernels) add_contract(kernel);
  for (const attnplan_contract& contract : contracts_) contract_pointers_.push_back(&contract);
  config_.contracts = contract_pointers_.data();
  config_.num_contracts = contract_pointers_.size();
}

void BatchStructs::fill_step(const Batch& batch) {
  step_ = batch.step;
  step_.num_reqs = batch.num_reqs();
  const int32_t* query = batch.query.empty() ? kNoInts : batch.query.data();
  (batch.as_offsets ? step_.query_start_loc : step_.query_lens) = query;
  step_.seq_lens = data_of(batch.seq_lens);
  step_.num_computed_tokens = data_of(batch.num_computed_tokens);
  step_.num_prompt_tokens = data_of(batch.num_prompt_tokens);
  step_.num_known_tokens = data_of(batch.num_known_tokens);
  step_.num_draft_tokens = data_of(batch.num_draft_tokens);
  step_.is_prefilling = data_of(batch.is_prefilling);
  step_.seq_len_exact = data_of(batch.seq_len_exact);
}

void BatchStructs::fill_group(const BlockTable& table) {
  has_group_ = true;
  group_.columns = table.columns;
  group_.row_stride = table.row_stride;
  group_.block_ids = data_of(table.ids);
  group_.block_indptr = data_of(table.indptr);
  group_.flags = table.flags;
}

}  // namespace attnplan::oracle
