// "backend": a profile by name, or contracts as data.
#include "json/batch_storage.h"
#include "json/vocabulary.h"

namespace attnplan::json {
namespace {

// A contract and where its lists are kept.
struct ContractTarget {
  attnplan_contract& contract;
  BatchStorage& batch;
};

template <auto kMember>
void read_contract_int(Reader& reader, const Place& place, ContractTarget& target) {
  target.contract.*kMember = reader.int32(place);
}

// The step has fields of the same names: the message has to say whose number it is.
template <auto kMember>
void read_contract_count(Reader& reader, const Place& place, ContractTarget& target) {
  target.contract.*kMember = reader.count(place);
}

template <auto kMember>
void read_contract_list(Reader& reader, const Place& place, ContractTarget& target) {
  target.contract.*kMember = read_int_list(reader, place, target.batch);
}

template <auto kMember, const auto& kWords>
void read_contract_word(Reader& reader, const Place& place, ContractTarget& target) {
  target.contract.*kMember = reader.word(place, kWords);
}

// Empty lists admit nothing, which is not the same as an absent list.
template <auto kMember, const auto& kWords>
void read_contract_set(Reader& reader, const Place& place, ContractTarget& target) {
  const uint32_t set = reader.word_set(place, kWords);
  target.contract.*kMember = set == 0 ? ATTNPLAN_SET_EMPTY : set;
}

template <uint32_t kFlag, bool kWhen>
void read_contract_flag(Reader& reader, const Place& place, ContractTarget& target) {
  if (reader.boolean(place) == kWhen) target.contract.flags |= kFlag;
}

void read_contract_name(Reader& reader, const Place& place, ContractTarget& target) {
  if (reader.string(place).empty()) reader.fail(place, "is empty, expected a name");
  target.contract.name = target.batch.keep(reader.c_string(place));
}

void read_contract_archs(Reader& reader, const Place& place, ContractTarget& target) {
  target.contract.archs = read_string_list(reader, place, target.batch);
}

// What a kernel can do: here the empty list is the default.
void read_contract_features(Reader& reader, const Place& place, ContractTarget& target) {
  target.contract.features = reader.word_set(place, kFeatures);
}

void read_contract_offset_limit(Reader& reader, const Place& place, ContractTarget& target) {
  const OffsetLimit limit = read_offset_limit(reader, place);
  target.contract.offset_unit = limit.unit;
  target.contract.offset_max = limit.max;
}

using C = attnplan_contract;
constexpr Field<ContractTarget> kContractFields[] = {
    {"name", read_contract_name},
    {"route", read_contract_word<&C::route, kRoutes>},
    {"uniform", read_contract_flag<ATTNPLAN_CONTRACT_UNIFORM, true>},
    {"query_lens", read_contract_list<&C::query_lens>},
    {"max_query_len", read_contract_count<&C::max_query_len>},
    {"max_query_len_x_group", read_contract_count<&C::max_query_len_x_group>},
    {"groups", read_contract_list<&C::groups>},
    {"context", read_contract_word<&C::context, kContexts>},
    {"exact_seq_lens", read_contract_flag<ATTNPLAN_CONTRACT_EXACT_SEQ_LENS, true>},
    {"min_requests", read_contract_count<&C::min_requests>},
    {"max_requests", read_contract_count<&C::max_requests>},
    {"max_seq_len", read_contract_count<&C::max_seq_len>},
    {"head_sizes", read_contract_list<&C::head_sizes>},
    {"v_head_sizes", read_contract_list<&C::v_head_sizes>},
    {"archs", read_contract_archs},
    {"masks", read_contract_set<&C::masks, kMasks>},
    {"sliding_window", read_contract_flag<ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW, false>},
    {"features", read_contract_features},
    {"block_sizes", read_contract_list<&C::block_sizes>},
    {"page_sizes", read_contract_list<&C::page_sizes>},
    {"dtypes", read_contract_set<&C::dtypes, kDtypes>},
    {"layouts", read_contract_set<&C::layouts, kLayouts>},
    {"scales", read_contract_set<&C::scales, kScales>},
    {"tile_tokens", read_contract_count<&C::tile_tokens>},
    {"query_tile", read_contract_int<&C::query_tile>},
    {"kv_tile", read_contract_int<&C::kv_tile>},
    {"num_splits", read_contract_count<&C::num_splits>},
    {"offset_limit", read_contract_offset_limit},
    {"equal_kv_rows", read_contract_flag<ATTNPLAN_CONTRACT_EQUAL_KV_ROWS, true>},
    {"equal_scale_rows", read_contract_flag<ATTNPLAN_CONTRACT_EQUAL_SCALE_ROWS, true>},
    {"dtype_label", read_contract_word<&C::dtype_label, kDtypeLabels>},
    {"pads", read_contract_word<&C::pads, kPads>},
    {"graph", read_contract_word<&C::graph, kCaptures>},
};

void read_kernels(Reader& reader, const Place& place, BatchStorage& batch) {
  reader.for_each_element(place, [&](const Place& kernel) {
    ContractTarget target{batch.contracts.emplace_back(attnplan_contract ATTNPLAN_CONTRACT_INIT),
                          batch};
    reader.object(kernel, kContractFields, target);
    reader.require(kernel, "name");
    reader.require(kernel, "route");
    batch.contract_pointers.push_back(&target.contract);
  });
  if (batch.contract_pointers.empty())
    reader.fail(place, "is empty, expected at least one contract");
}

constexpr Field<BatchStorage> kBackendFields[] = {
    {"name",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       batch.config.profile = batch.keep(reader.c_string(place));
     }},
    {"kernels", read_kernels},
    {"ragged",
     [](Reader& reader, const Place& place, BatchStorage& batch) {
       batch.config.profile_ragged = reader.word(place, kRaggedPolicies);
     }},
};

}  // namespace

void read_backend(Reader& reader, const Place& place, BatchStorage& batch) {
  if (reader.node(place).kind == Kind::kString) {
    reader.word(place, kProfiles);
    batch.config.profile = batch.keep(reader.c_string(place));
    return;
  }
  if (reader.node(place).kind != Kind::kObject) {
    return reader.expected(place, "the name of a profile or an object");
  }
  reader.object(place, kBackendFields, batch);
  reader.require(place, "name");
  reader.require(place, "kernels");
  batch.config.contracts = batch.contract_pointers.data();
  batch.config.num_contracts = batch.contract_pointers.size();
}

}  // namespace attnplan::json
