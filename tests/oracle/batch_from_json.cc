#include <stdexcept>

#include "batch_json.h"
#include "names.h"

namespace attnplan::oracle {
namespace {

// Features of the batch document that come later: a document with one of these is not covered.
const char* const kLater[] = {"graph", "context_parallel", "local_attention_chunk", "slot_mapping"};
const char* const kLaterOptions[] = {"chunk_policy", "chunk_workspace_tokens", "work", "layout"};

int64_t number(const Names& names, const Json& value) {
  for (const auto& [name, number] : names) {
    if (value == name) return number;
  }
  throw std::runtime_error("unknown name " + value.dump());
}

template <typename T>
void read(const Json& object, const char* key, T* out) {
  if (object.contains(key)) *out = object.at(key).get<T>();
}

template <typename T>
void read_name(const Json& object, const char* key, const Names& names, T* out) {
  if (object.contains(key)) *out = static_cast<T>(number(names, object.at(key)));
}

void read_list(const Json& object, const char* key, IntList* out) {
  if (object.contains(key)) *out = object.at(key).get<Ints>();
}

void read_bools(const Json& object, const char* key, std::optional<Bools>* out) {
  if (!object.contains(key)) return;
  out->emplace();
  for (const Json& value : object.at(key)) (*out)->push_back(value.get<bool>());
}

// A list of names as a set: plain bits, or the bits 1 << number of a contract's sets.
uint32_t read_features(const Json& list) {
  uint32_t bits = 0;
  for (const Json& name : list) bits |= static_cast<uint32_t>(number(kFeatures, name));
  return bits;
}

void read_set(const Json& object, const char* key, const Names& names, uint32_t* out) {
  if (!object.contains(key)) return;
  *out = ATTNPLAN_SET_EMPTY;
  for (const Json& name : object.at(key)) {
    *out = (*out & ~ATTNPLAN_SET_EMPTY) | 1u << number(names, name);
  }
}

void read_offset_limit(const Json& object, attnplan_offset_unit* unit, int64_t* max) {
  if (!object.contains("offset_limit")) return;
  read_name(object.at("offset_limit"), "unit", kUnits, unit);
  read(object.at("offset_limit"), "max", max);
}

Contract read_contract(const Json& in) {
  Contract out;
  read(in, "name", &out.name);
  read_name(in, "route", kRoutes, &out.route);
  for (const auto& [name, flag] : kContractFlags) {
    if (in.value(name, false)) out.flags |= static_cast<uint32_t>(flag);
  }
  if (!in.value("sliding_window", true)) out.flags |= ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW;
  read_list(in, "query_lens", &out.query_lens);
  read_list(in, "groups", &out.groups);
  read_list(in, "head_sizes", &out.head_sizes);
  read_list(in, "v_head_sizes", &out.v_head_sizes);
  read_list(in, "block_sizes", &out.block_sizes);
  read_list(in, "page_sizes", &out.page_sizes);
  if (in.contains("archs")) out.archs = in.at("archs").get<std::vector<std::string>>();
  read_set(in, "masks", kMasks, &out.masks);
  read_set(in, "dtypes", kDtypes, &out.dtypes);
  read_set(in, "layouts", kLayouts, &out.layouts);
  read_set(in, "scales", kScales, &out.scales);
  if (in.contains("features")) out.features = read_features(in.at("features"));
  read(in, "max_query_len", &out.max_query_len);
  read(in, "max_query_len_x_group", &out.max_query_len_x_group);
  read_name(in, "context", kContexts, &out.context);
  read(in, "min_requests", &out.min_requests);
  read(in, "max_requests", &out.max_requests);
  read(in, "max_seq_len", &out.max_seq_len);
  read(in, "tile_tokens", &out.tile_tokens);
  read_name(in, "dtype_label", kLabels, &out.dtype_label);
  read_name(in, "pads", kPads, &out.pads);
  read_name(in, "graph", kCaptures, &out.graph);
  read_offset_limit(in, &out.offset_unit, &out.offset_max);
  return out;
}

void read_backend(const Json& in, Batch* out) {
  if (in.is_string()) {
    out->profile = in.get<std::string>();
    return;
  }
  read(in, "name", &out->profile);
  read_name(in, "ragged", kPolicies, &out->config.profile_ragged);
  out->kernels.emplace();
  for (const Json& kernel : in.at("kernels")) out->kernels->push_back(read_contract(kernel));
}

attnplan_kv_cache read_cache(const Json& in) {
  attnplan_kv_cache out = ATTNPLAN_KV_CACHE_INIT;
  read_name(in, "layout", kLayouts, &out.layout);
  if (in.value("packed", false)) out.flags |= ATTNPLAN_KV_PACKED;
  if (in.value("shuffle", false)) out.flags |= ATTNPLAN_KV_SHUFFLE;
  if (in.value("consumer", "raw") == "typed") out.flags |= ATTNPLAN_KV_TYPED;
  read(in, "num_blocks", &out.num_blocks);
  read(in, "block_size", &out.block_size);
  read(in, "page_size", &out.page_size);
  read_name(in, "cache_dtype", kCacheDtypes, &out.cache_dtype);
  read_name(in, "storage_dtype", kDtypes, &out.storage_dtype);
  read_name(in, "view_dtype", kDtypes, &out.view_dtype);
  read_name(in, "scale", kScales, &out.scale);
  read_offset_limit(in, &out.offset_unit, &out.offset_max);
  read(in, "k_pages", &out.k_pages);
  read(in, "v_pages", &out.v_pages);
  read(in, "k_scale_pages", &out.k_scale_pages);
  read(in, "v_scale_pages", &out.v_scale_pages);
  read(in, "block_stride", &out.block_stride);
  return out;
}

BlockTable read_table(const Json& in) {
  BlockTable out;
  read(in, "columns", &out.columns);
  if (in.contains("rows")) {
    out.ids.emplace();
    for (const Json& row : in.at("rows")) {
      for (const Json& id : row) out.ids->push_back(id.get<int32_t>());
    }
  }
  if (in.contains("indptr")) {
    out.indptr = in.at("indptr").get<Ints>();
    out.ids = in.at("ids").get<Ints>();
  }
  if (!in.value("check_ids", true)) out.flags |= ATTNPLAN_GROUP_SKIP_ID_CHECK;
  return out;
}

void read_model(const Json& in, Batch* out) {
  attnplan_config* config = &out->config;
  read(in, "decode_threshold", &config->decode_threshold);
  read_name(in, "mask", kMasks, &config->mask);
  if (in.contains("features")) config->features = read_features(in.at("features"));
  read(in, "sliding_window", &config->sliding_window);
  const Json heads = in.value("heads", Json::object());
  read(heads, "num_q_heads", &config->num_q_heads);
  read(heads, "num_kv_heads", &config->num_kv_heads);
  read(heads, "head_size", &config->head_size);
  read(heads, "v_head_size", &config->v_head_size);
  const Json device = in.value("device", Json::object());
  read(device, "arch", &out->arch);
  read(device, "num_workers", &config->num_workers);
  const Json limits = in.value("limits", Json::object());
  read(limits, "max_model_len", &config->max_model_len);
  read(limits, "max_num_seqs", &config->max_num_seqs);
  read(limits, "max_num_batched_tokens", &config->max_num_batched_tokens);
  read(limits, "max_sections_bytes", &config->max_sections_bytes);
}

bool read_options(const Json& in, Batch* out, std::string* missing) {
  for (const char* key : kLaterOptions) {
    if (!in.contains(key)) continue;
    *missing = key;
    return false;
  }
  read_name(in, "order", kOrders, &out->config.order);
  read_name(in, "ragged", kPolicies, &out->config.ragged);
  read(in, "max_segments", &out->config.max_segments);
  if (in.value("short_extend", "extend") == "decode") {
    out->config.flags |= ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE;
  }
  for (const Json& section : in.value("sections", Json::array())) {
    int64_t id = 0;
    for (const auto& [name, value] : kSections) {
      if (section == name) id = value;
    }
    if (id == 0) {
      *missing = section.get<std::string>();
      return false;
    }
    out->config.sections |= uint64_t{1} << id;
  }
  return true;
}

void read_lengths(const Json& in, Batch* out) {
  out->as_offsets = in.contains("query_start_loc");
  out->query = in.at(out->as_offsets ? "query_start_loc" : "query_lens").get<Ints>();
  read_list(in, "seq_lens", &out->seq_lens);
  read_list(in, "num_computed_tokens", &out->num_computed_tokens);
  read_list(in, "num_prompt_tokens", &out->num_prompt_tokens);
  read_list(in, "num_known_tokens", &out->num_known_tokens);
  read_list(in, "num_draft_tokens", &out->num_draft_tokens);
  read_bools(in, "is_prefilling", &out->is_prefilling);
  read_bools(in, "seq_len_exact", &out->seq_len_exact);
  read_name(in, "phase", kPhases, &out->step.phase);
  read(in, "num_tokens", &out->step.num_tokens);
  read(in, "max_query_len", &out->step.max_query_len);
  read(in, "num_reqs_padded", &out->step.num_reqs_padded);
  read(in, "num_tokens_padded", &out->step.num_tokens_padded);
  if (!in.value("query_lens_exact", true)) out->step.flags |= ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  if (!in.value("seq_lens_exact", true)) out->step.flags |= ATTNPLAN_STEP_SEQ_LENS_INEXACT;
}

}  // namespace

std::optional<Batch> batch_from_json(const Json& in, std::string* missing) {
  for (const char* key : kLater) {
    if (!in.contains(key)) continue;
    *missing = key;
    return std::nullopt;
  }
  Batch out;
  read(in, "name", &out.name);
  read_backend(in.at("backend"), &out);
  read_model(in, &out);
  read_lengths(in, &out);
  if (in.contains("kv_cache")) out.kv_cache = read_cache(in.at("kv_cache"));
  if (in.contains("block_table")) out.table = read_table(in.at("block_table"));
  if (!read_options(in.value("options", Json::object()), &out, missing)) return std::nullopt;
  return out;
}

}  // namespace attnplan::oracle
