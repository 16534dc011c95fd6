#include "contract.h"

namespace attnplan::oracle {
namespace {

IntList list_from_c(const attnplan_int32_list& list) {
  if (list.data == nullptr) return std::nullopt;
  return std::vector<int32_t>(list.data, list.data + list.count);
}

Contract kernel(const char* name, attnplan_route route) {
  Contract contract;
  contract.name = name;
  contract.route = route;
  return contract;
}

// decode, extend and prefill kernel of ATOM's MHA builder.
std::vector<Contract> aiter_mha() {
  Contract decode = kernel("pa_decode_gluon", ATTNPLAN_ROUTE_DECODE);
  decode.flags = ATTNPLAN_CONTRACT_UNIFORM | ATTNPLAN_CONTRACT_EQUAL_KV_ROWS |
                 ATTNPLAN_CONTRACT_EQUAL_SCALE_ROWS;
  decode.max_query_len = 4;
  decode.max_query_len_x_group = 64;
  decode.page_sizes = {16, 64, 1024};
  decode.archs = std::vector<std::string>{"gfx942", "gfx950"};
  Contract extend = kernel("gather_varlen_merge", ATTNPLAN_ROUTE_EXTEND);
  extend.flags = ATTNPLAN_CONTRACT_EXACT_SEQ_LENS;
  Contract prefill = kernel("varlen_causal", ATTNPLAN_ROUTE_PREFILL);
  prefill.context = ATTNPLAN_CONTEXT_NONE;
  return {decode, extend, prefill};
}

constexpr uint32_t kUnifiedFeatures =
    ATTNPLAN_FEATURE_SINKS | ATTNPLAN_FEATURE_SOFT_CAP | ATTNPLAN_FEATURE_ALIBI;

std::vector<Contract> aiter_fa() {
  std::vector<Contract> kernels = aiter_mha();
  Contract unified = kernel("unified_varlen", ATTNPLAN_ROUTE_EXTEND);
  unified.features = kUnifiedFeatures;
  kernels.insert(kernels.begin() + 2, unified);
  return kernels;
}

std::vector<Contract> minimax_m3_sparse() {
  Contract decode = kernel("m3_decode", ATTNPLAN_ROUTE_DECODE);
  decode.flags = ATTNPLAN_CONTRACT_UNIFORM;
  decode.block_sizes = {128};
  decode.head_sizes = {128};
  Contract prefill = kernel("m3_prefill", ATTNPLAN_ROUTE_PREFILL);
  prefill.block_sizes = {128};
  prefill.head_sizes = {128};
  return {decode, prefill};
}

std::vector<Contract> unified() {
  Contract extend = kernel("unified_attention", ATTNPLAN_ROUTE_EXTEND);
  extend.graph = ATTNPLAN_CAPTURE_ALWAYS;
  extend.features = kUnifiedFeatures;
  return {extend};
}

// The companion module's kernels, by docs/planning.md.
Contract companion(const char* name, attnplan_route route) {
  Contract contract = kernel(name, route);
  contract.max_query_len = route == ATTNPLAN_ROUTE_DECODE ? 16 : 0;
  contract.groups = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  contract.page_sizes = {16, 32, 64, 128};
  contract.archs = std::vector<std::string>{"gfx90a", "gfx942", "gfx950", "sm_90"};
  contract.features = ATTNPLAN_FEATURE_LSE;
  contract.dtypes = 1u << ATTNPLAN_DTYPE_BF16 | 1u << ATTNPLAN_DTYPE_FP16 |
                    1u << ATTNPLAN_DTYPE_E4M3FN | 1u << ATTNPLAN_DTYPE_E4M3FNUZ |
                    1u << ATTNPLAN_DTYPE_E5M2;
  contract.scales =
      1u << ATTNPLAN_SCALE_NONE | 1u << ATTNPLAN_SCALE_TENSOR | 1u << ATTNPLAN_SCALE_TOKEN_HEAD;
  contract.layouts = 1u << ATTNPLAN_LAYOUT_LBNHC | 1u << ATTNPLAN_LAYOUT_LBHNC |
                     1u << ATTNPLAN_LAYOUT_LHBNC | 1u << ATTNPLAN_LAYOUT_BLHNC |
                     1u << ATTNPLAN_LAYOUT_BLNHC | 1u << ATTNPLAN_LAYOUT_BHLNC;
  contract.graph = ATTNPLAN_CAPTURE_ALWAYS;
  return contract;
}

std::vector<Contract> hip() {
  std::vector<Contract> kernels = {companion("paged_decode", ATTNPLAN_ROUTE_DECODE),
                                   companion("paged_extend", ATTNPLAN_ROUTE_EXTEND),
                                   companion("paged_prefill", ATTNPLAN_ROUTE_PREFILL)};
  for (Contract& contract : kernels) {
    contract.head_sizes = {64, 128, 192, 256};
    contract.v_head_sizes = {64, 128, 128, 256};
    contract.masks = 1u << ATTNPLAN_MASK_CAUSAL | 1u << ATTNPLAN_MASK_FULL;
    contract.features |= ATTNPLAN_FEATURE_SOFT_CAP;
  }
  return kernels;
}

std::vector<Contract> hip_m3() {
  std::vector<Contract> kernels = {companion("m3_decode", ATTNPLAN_ROUTE_DECODE),
                                   companion("m3_extend", ATTNPLAN_ROUTE_EXTEND),
                                   companion("m3_prefill", ATTNPLAN_ROUTE_PREFILL)};
  for (Contract& contract : kernels) {
    contract.head_sizes = {128};
    contract.v_head_sizes = {128};
    contract.block_sizes = {128};
    contract.flags = ATTNPLAN_CONTRACT_NO_SLIDING_WINDOW;
  }
  return kernels;
}

}  // namespace

Contract contract_from_c(const attnplan_contract& c) {
  Contract out;
  out.name = c.name;
  out.route = c.route;
  out.flags = c.flags;
  out.query_lens = list_from_c(c.query_lens);
  out.groups = list_from_c(c.groups);
  out.head_sizes = list_from_c(c.head_sizes);
  out.v_head_sizes = list_from_c(c.v_head_sizes);
  out.block_sizes = list_from_c(c.block_sizes);
  out.page_sizes = list_from_c(c.page_sizes);
  if (c.archs.data != nullptr) out.archs.emplace(c.archs.data, c.archs.data + c.archs.count);
  out.masks = c.masks;
  out.features = c.features;
  out.dtypes = c.dtypes;
  out.layouts = c.layouts;
  out.scales = c.scales;
  out.max_query_len = c.max_query_len;
  out.max_query_len_x_group = c.max_query_len_x_group;
  out.context = c.context;
  out.min_requests = c.min_requests;
  out.max_requests = c.max_requests;
  out.max_seq_len = c.max_seq_len;
  out.tile_tokens = c.tile_tokens;
  out.dtype_label = c.dtype_label;
  out.pads = c.pads;
  out.graph = c.graph;
  out.offset_unit = c.offset_unit;
  out.offset_max = c.offset_max;
  return out;
}

std::optional<std::vector<Contract>> builtin_profile(const std::string& name) {
  if (name == "aiter_mha") return aiter_mha();
  if (name == "aiter_fa") return aiter_fa();
  if (name == "minimax_m3_sparse") return minimax_m3_sparse();
  if (name == "unified") return unified();
  if (name == "hip") return hip();
  if (name == "hip_m3") return hip_m3();
  return std::nullopt;
}

}  // namespace attnplan::oracle
