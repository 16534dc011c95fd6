#include "batch_json.h"
#include "names.h"

namespace attnplan::oracle {
namespace {

void put(Json* out, const char* key, int64_t value) {
  if (value != 0) (*out)[key] = value;
}

void put_name(Json* out, const char* key, const Names& names, int64_t value) {
  if (value != 0) (*out)[key] = name_of(names, value);
}

template <typename List>
void put_list(Json* out, const char* key, const std::optional<List>& list) {
  if (list) (*out)[key] = *list;
}

void put_bools(Json* out, const char* key, const std::optional<Bools>& list) {
  if (!list) return;
  (*out)[key] = Json::array();
  for (uint8_t value : *list) (*out)[key].push_back(value != 0);
}

Json feature_names(uint32_t bits) {
  Json names = Json::array();
  for (const auto& [name, bit] : kFeatures) {
    if ((bits & bit) != 0) names.push_back(name);
  }
  return names;
}

void put_set(Json* out, const char* key, const Names& names, uint32_t bits) {
  if (bits == 0) return;
  Json list = Json::array();
  for (int32_t value = 0; value < 31; ++value) {
    if (((bits >> value) & 1u) != 0) list.push_back(name_of(names, value));
  }
  (*out)[key] = list;
}

void put_offset_limit(Json* out, attnplan_offset_unit unit, int64_t max) {
  if (unit != ATTNPLAN_OFFSET_NONE) {
    (*out)["offset_limit"] = {{"unit", name_of(kUnits, unit)}, {"max", max}};
  }
}

Json contract_json(const Contract& in) {
  Json out = {{"name", in.name}, {"route", name_of(kRoutes, in.route)}};
  for (const auto& [name, flag] : kContractFlags) {
    if (in.has(static_cast<uint32_t>(flag))) out[name] = true;
  }
  if (in.has(ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW)) out["sliding_window"] = false;
  put_list(&out, "query_lens", in.query_lens);
  put(&out, "max_query_len", in.max_query_len);
  put(&out, "max_query_len_x_group", in.max_query_len_x_group);
  put_list(&out, "groups", in.groups);
  put_name(&out, "context", kContexts, in.context);
  put(&out, "min_requests", in.min_requests);
  put(&out, "max_requests", in.max_requests);
  put(&out, "max_seq_len", in.max_seq_len);
  put_list(&out, "head_sizes", in.head_sizes);
  put_list(&out, "v_head_sizes", in.v_head_sizes);
  put_list(&out, "archs", in.archs);
  put_set(&out, "masks", kMasks, in.masks);
  if (in.features != 0) out["features"] = feature_names(in.features);
  put_list(&out, "block_sizes", in.block_sizes);
  put_list(&out, "page_sizes", in.page_sizes);
  put_set(&out, "dtypes", kDtypes, in.dtypes);
  put_set(&out, "layouts", kLayouts, in.layouts);
  put_set(&out, "scales", kScales, in.scales);
  put(&out, "tile_tokens", in.tile_tokens);
  put_offset_limit(&out, in.offset_unit, in.offset_max);
  put_name(&out, "dtype_label", kLabels, in.dtype_label);
  put_name(&out, "pads", kPads, in.pads);
  put_name(&out, "graph", kCaptures, in.graph);
  return out;
}

Json backend_json(const Batch& batch) {
  if (!batch.kernels) return batch.profile;
  Json out = {{"name", batch.profile}, {"kernels", Json::array()}};
  for (const Contract& kernel : *batch.kernels) out["kernels"].push_back(contract_json(kernel));
  put_name(&out, "ragged", kPolicies, batch.config.profile_ragged);
  return out;
}

Json cache_json(const attnplan_kv_cache& in) {
  Json out = {{"num_blocks", in.num_blocks}, {"block_size", in.block_size}};
  put_name(&out, "layout", kLayouts, in.layout);
  if ((in.flags & ATTNPLAN_KV_PACKED) != 0) out["packed"] = true;
  if ((in.flags & ATTNPLAN_KV_SHUFFLE) != 0) out["shuffle"] = true;
  if ((in.flags & ATTNPLAN_KV_TYPED) != 0) out["consumer"] = "typed";
  put(&out, "page_size", in.page_size);
  put_name(&out, "cache_dtype", kCacheDtypes, in.cache_dtype);
  put_name(&out, "storage_dtype", kDtypes, in.storage_dtype);
  put_name(&out, "view_dtype", kDtypes, in.view_dtype);
  put_name(&out, "scale", kScales, in.scale);
  put(&out, "k_pages", in.k_pages);
  put(&out, "v_pages", in.v_pages);
  put(&out, "k_scale_pages", in.k_scale_pages);
  put(&out, "v_scale_pages", in.v_scale_pages);
  put(&out, "block_stride", in.block_stride);
  put_offset_limit(&out, in.offset_unit, in.offset_max);
  return out;
}

Json table_json(const BlockTable& in, int32_t num_reqs) {
  Json out = Json::object();
  if (in.indptr) {
    out["indptr"] = *in.indptr;
    out["ids"] = in.ids.value_or(Ints{});
  } else {
    out["columns"] = in.columns;
    const int64_t stride = in.row_stride > 0 ? in.row_stride : in.columns;
    for (int32_t i = 0; in.ids && i < num_reqs; ++i) {
      const auto row = in.ids->begin() + i * stride;
      out["rows"].push_back(Ints(row, row + in.columns));
    }
  }
  if ((in.flags & ATTNPLAN_GROUP_SKIP_ID_CHECK) != 0) out["check_ids"] = false;
  return out;
}

void put_object(Json* out, const char* key, const Json& object) {
  if (!object.empty()) (*out)[key] = object;
}

void put_model(const Batch& batch, Json* out) {
  const attnplan_config& config = batch.config;
  put(out, "decode_threshold", config.decode_threshold);
  Json heads = Json::object(), limits = Json::object();
  put(&heads, "num_q_heads", config.num_q_heads);
  put(&heads, "num_kv_heads", config.num_kv_heads);
  put(&heads, "head_size", config.head_size);
  put(&heads, "v_head_size", config.v_head_size);
  put_object(out, "heads", heads);
  put_name(out, "mask", kMasks, config.mask);
  if (config.features != 0) (*out)["features"] = feature_names(config.features);
  put(out, "sliding_window", config.sliding_window);
  (*out)["device"] = {{"arch", batch.arch}};
  put(&limits, "max_model_len", config.max_model_len);
  put(&limits, "max_num_seqs", config.max_num_seqs);
  put(&limits, "max_num_batched_tokens", config.max_num_batched_tokens);
  put(&limits, "max_sections_bytes", config.max_sections_bytes);
  put_object(out, "limits", limits);
}

void put_step(const Batch& batch, Json* out) {
  (*out)[batch.as_offsets ? "query_start_loc" : "query_lens"] = batch.query;
  put_list(out, "seq_lens", batch.seq_lens);
  put_list(out, "num_computed_tokens", batch.num_computed_tokens);
  put_list(out, "num_prompt_tokens", batch.num_prompt_tokens);
  put_list(out, "num_known_tokens", batch.num_known_tokens);
  put_list(out, "num_draft_tokens", batch.num_draft_tokens);
  put_bools(out, "is_prefilling", batch.is_prefilling);
  put_bools(out, "seq_len_exact", batch.seq_len_exact);
  put(out, "num_tokens", batch.step.num_tokens);
  put(out, "max_query_len", batch.step.max_query_len);
  put(out, "num_reqs_padded", batch.step.num_reqs_padded);
  put(out, "num_tokens_padded", batch.step.num_tokens_padded);
  if ((batch.step.flags & ATTNPLAN_STEP_QUERY_LENS_INEXACT) != 0) {
    (*out)["query_lens_exact"] = false;
  }
  if ((batch.step.flags & ATTNPLAN_STEP_SEQ_LENS_INEXACT) != 0) (*out)["seq_lens_exact"] = false;
}

Json options_json(const attnplan_config& config) {
  Json out = Json::object();
  put_name(&out, "order", kOrders, config.order);
  put_name(&out, "ragged", kPolicies, config.ragged);
  put(&out, "max_segments", config.max_segments);
  if ((config.flags & ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE) != 0) out["short_extend"] = "decode";
  for (const auto& [name, id] : kSections) {
    if (((config.sections >> id) & 1u) != 0) out["sections"].push_back(name);
  }
  return out;
}

}  // namespace

Json batch_to_json(const Batch& batch) {
  Json out = Json::object();
  if (!batch.name.empty()) out["name"] = batch.name;
  out["backend"] = backend_json(batch);
  put_name(&out, "phase", kPhases, batch.step.phase);
  put_model(batch, &out);
  put_step(batch, &out);
  if (batch.kv_cache) out["kv_cache"] = cache_json(*batch.kv_cache);
  if (batch.table) out["block_table"] = table_json(*batch.table, batch.num_reqs());
  if (batch.step.graph_allow != ATTNPLAN_GRAPH_ALLOW_FULL) {
    out["graph"] = {{"full", batch.graph_full},
                    {"piecewise", batch.graph_piecewise},
                    {"allow", name_of(kAllows, batch.step.graph_allow)}};
  }
  put_object(&out, "options", options_json(batch.config));
  return out;
}

}  // namespace attnplan::oracle
