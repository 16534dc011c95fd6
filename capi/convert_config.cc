#include <cstring>

#include "convert.h"
#include "convert_cache.h"
#include "versioned.h"

namespace attnplan {
namespace {

int32_t or_default(int32_t value, int32_t absent) { return value != 0 ? value : absent; }

IntList to_list(const attnplan_int32_list& list, std::pmr::memory_resource* memory) {
  if (list.data == nullptr) return std::nullopt;
  return std::pmr::vector<int32_t>(list.data, list.data + list.count, memory);
}

// 0: the default; the empty-set bit alone: nothing.
std::optional<uint32_t> to_set(uint32_t bits) {
  if (bits == 0) return std::nullopt;
  return bits & ~ATTNPLAN_SET_EMPTY;
}

Status to_contract(const attnplan_contract* given, Contract* contract,
                   std::pmr::memory_resource* memory, Error* error) {
  attnplan_contract copy;
  const attnplan_contract* c;
  Status status = read_struct(given, &copy, &c, "attnplan_contract", error);
  if (status != Status::kOk) return status;
  constexpr uint32_t kFlags = 31;
  if ((c->flags & ~kFlags) != 0) return unknown_value(error, "contract flags", c->flags);
  if ((c->features & ~kAllFeatures) != 0) return unknown_value(error, "features", c->features);
  if (c->reserved0 != 0) return unknown_value(error, "contract reserved0", c->reserved0);
  status = check_enums({{"route", c->route, ATTNPLAN_ROUTE_PREFILL},
                        {"context", c->context, ATTNPLAN_CONTEXT_SOME},
                        {"dtype_label", c->dtype_label, ATTNPLAN_LABEL_STORAGE},
                        {"pads", c->pads, ATTNPLAN_PADS_FULL_WIDTH},
                        {"graph", c->graph, ATTNPLAN_CAPTURE_NEVER},
                        {"offset_unit", c->offset_unit, ATTNPLAN_OFFSET_BYTES}},
                       error);
  if (status != Status::kOk) return status;
  if (c->name != nullptr) contract->name = c->name;
  contract->route = static_cast<Route>(c->route);
  contract->uniform = (c->flags & ATTNPLAN_CONTRACT_UNIFORM) != 0;
  contract->exact_seq_lens = (c->flags & ATTNPLAN_CONTRACT_EXACT_SEQ_LENS) != 0;
  contract->sliding_window = (c->flags & ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW) == 0;
  contract->equal_kv_rows = (c->flags & ATTNPLAN_CONTRACT_EQUAL_KV_ROWS) != 0;
  contract->equal_scale_rows = (c->flags & ATTNPLAN_CONTRACT_EQUAL_SCALE_ROWS) != 0;
  contract->query_lens = to_list(c->query_lens, memory);
  contract->groups = to_list(c->groups, memory);
  contract->head_sizes = to_list(c->head_sizes, memory);
  contract->v_head_sizes = to_list(c->v_head_sizes, memory);
  contract->block_sizes = to_list(c->block_sizes, memory);
  contract->page_sizes = to_list(c->page_sizes, memory);
  if (c->archs.data != nullptr) {
    auto& archs = contract->archs.emplace(memory);
    for (size_t i = 0; i < c->archs.count; ++i) {
      if (c->archs.data[i] == nullptr) {
        return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                          "an arch of a contract is NULL");
      }
      archs.emplace_back(c->archs.data[i]);
    }
  }
  contract->masks = to_set(c->masks);
  contract->features = c->features;
  contract->dtypes = to_set(c->dtypes);
  contract->layouts = to_set(c->layouts);
  contract->scales = to_set(c->scales);
  contract->max_query_len = c->max_query_len;
  contract->max_query_len_x_group = c->max_query_len_x_group;
  contract->context = static_cast<Context>(c->context);
  contract->min_requests = c->min_requests;
  contract->max_requests = c->max_requests;
  contract->max_seq_len = c->max_seq_len;
  contract->tile_tokens = c->tile_tokens;
  contract->query_tile = or_default(c->query_tile, 64);
  contract->kv_tile = or_default(c->kv_tile, 128);
  contract->num_splits = c->num_splits;
  contract->offset_limit = {static_cast<OffsetUnit>(c->offset_unit), c->offset_max};
  contract->dtype_label = static_cast<DtypeLabel>(c->dtype_label);
  contract->pads = static_cast<Pads>(c->pads);
  contract->graph = static_cast<Capture>(c->graph);
  return Status::kOk;
}

void copy_numbers(const attnplan_config& c, Config* config) {
  config->num_workers = or_default(c.num_workers, 256);
  config->num_q_heads = or_default(c.num_q_heads, 16);
  config->num_kv_heads = or_default(c.num_kv_heads, 1);
  config->head_size = or_default(c.head_size, 128);
  config->v_head_size = or_default(c.v_head_size, config->head_size);
  config->decode_threshold = or_default(c.decode_threshold, 1);
  config->mask = static_cast<Mask>(c.mask);
  config->features = c.features;
  config->sliding_window = c.sliding_window;
  config->limits = {c.max_model_len, c.max_num_seqs, c.max_num_batched_tokens,
                    c.max_sections_bytes};
  config->sections = c.sections;
  config->order = static_cast<Order>(c.order);
  config->ragged = static_cast<Ragged>(c.ragged);
  config->profile_ragged = static_cast<Ragged>(c.profile_ragged);
  config->max_segments = or_default(c.max_segments, 8);
  config->short_extend_decode = (c.flags & ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE) != 0;
  config->chunk_policy = static_cast<ChunkPolicy>(c.chunk_policy);
  config->chunk_workspace_tokens = or_default(c.chunk_workspace_tokens, 32768);
  config->work = static_cast<Work>(c.work);
  config->work_fixed_tokens = c.work_fixed_tokens;
  config->section_layout = static_cast<SectionLayout>(c.section_layout);
  config->context_parallel_world = or_default(c.context_parallel_world, 1);
  config->context_parallel_rank = c.context_parallel_rank;
  config->context_parallel_interleave = or_default(c.context_parallel_interleave, 1);
  config->local_attention_chunk = c.local_attention_chunk;
  config->graph.width = c.graph_width;
  config->graph.max_num_seqs = c.graph_max_num_seqs;
}

Status check_config(const attnplan_config& c, Error* error) {
  constexpr uint32_t kFlags = ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE | ATTNPLAN_CONFIG_GRAPH;
  if ((c.flags & ~kFlags) != 0) return unknown_value(error, "config flags", c.flags);
  if ((c.features & ~kAllFeatures) != 0) return unknown_value(error, "features", c.features);
  return check_enums({{"mask", c.mask, ATTNPLAN_MASK_FULL},
                      {"order", c.order, ATTNPLAN_ORDER_SORT},
                      {"ragged", c.ragged, ATTNPLAN_RAGGED_AUTO},
                      {"profile_ragged", c.profile_ragged, ATTNPLAN_RAGGED_AUTO},
                      {"chunk_policy", c.chunk_policy, ATTNPLAN_CHUNKS_EQUAL},
                      {"work", c.work, ATTNPLAN_WORK_FIXED},
                      {"section_layout", c.section_layout, ATTNPLAN_SECTIONS_COMPACT}},
                     error);
}

}  // namespace

Status to_config(const attnplan_config* given, Config* config, Error* error) {
  attnplan_config copy;
  const attnplan_config* c;
  Status status = read_struct(given, &copy, &c, "attnplan_config", error);
  if (status == Status::kOk) status = check_config(*c, error);
  if (status != Status::kOk) return status;
  std::pmr::memory_resource* memory = config->profile.get_allocator().resource();
  if (c->profile != nullptr) config->profile = c->profile;
  if (c->arch != nullptr) config->arch = c->arch;
  if (c->num_contracts > 0 && c->contracts == nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1,
                      static_cast<int64_t>(c->num_contracts), 0, "contracts is NULL");
  }
  for (size_t i = 0; i < c->num_contracts; ++i) {
    status = to_contract(c->contracts[i], &config->contracts.emplace_back(memory), memory, error);
    if (status != Status::kOk) return status;
  }
  if (c->kv_cache != nullptr) {
    status = to_cache(c->kv_cache, &config->kv_cache.emplace(), error);
    if (status != Status::kOk) return status;
  }
  copy_numbers(*c, config);
  const auto fill = [](const attnplan_int32_list& list, std::pmr::vector<int32_t>* out) {
    if (list.data != nullptr) out->assign(list.data, list.data + list.count);
  };
  fill(c->graph_full, &config->graph.full);
  fill(c->graph_piecewise, &config->graph.piecewise);
  config->graph.enabled = (c->flags & ATTNPLAN_CONFIG_GRAPH) != 0 || !config->graph.full.empty() ||
                          !config->graph.piecewise.empty();
  return Status::kOk;
}

attnplan_kv_view from_view(const KvView& v) {
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  view.k_pages = v.k_pages;
  view.v_pages = v.v_pages;
  view.pages = v.pages;
  view.dropped_k_pages = v.dropped_k_pages;
  view.k_scale_pages = v.k_scale_pages;
  view.v_scale_pages = v.v_scale_pages;
  view.max_page_id = v.max_page_id;
  view.block_page_stride = v.block_page_stride;
  view.pages_per_block = v.pages_per_block;
  view.block_stride = v.block_stride;
  view.last_offset = v.last_offset;
  view.label = static_cast<attnplan_dtype>(v.label);
  view.storage_dtype = static_cast<attnplan_dtype>(v.storage_dtype);
  view.view_dtype = static_cast<attnplan_dtype>(v.view_dtype);
  view.packed = v.packed;
  view.needs_64bit = v.needs_64bit;
  view.page_size = v.page_size;
  return view;
}

// The lists of a NO_ROUTE or NEED_EXACT_SEQ_LENS, as far as the caller has room.
void fill_lists(const Scratch& scratch, const Error& error, attnplan_error* out) {
  constexpr size_t kListsEnd = offsetof(attnplan_error, message);
  if (error.code != Code::kNoRoute && error.code != Code::kNeedExactSeqLens) return;
  if (out == nullptr || out->struct_size < kListsEnd) return;
  const auto& refusals = scratch.failed_refusals();
  const auto& requests = scratch.failed_requests();
  out->num_refusals = static_cast<int32_t>(refusals.size());
  out->num_requests = static_cast<int32_t>(requests.size());
  for (int32_t i = 0; out->refusals && i < out->num_refusals && i < out->refusals_capacity; ++i) {
    out->refusals[i] = {refusals[static_cast<size_t>(i)].first,
                        refusals[static_cast<size_t>(i)].second};
  }
  for (int32_t i = 0; out->requests && i < out->num_requests && i < out->requests_capacity; ++i) {
    out->requests[i] = requests[static_cast<size_t>(i)];
  }
}

}  // namespace attnplan
