#include "planner/profiles.h"

#include "hip/contract_table.h"

namespace attnplan {
namespace {

constexpr uint32_t kUnifiedFeatures = kFeatureSinks | kFeatureSoftCap | kFeatureAlibi;

class ProfileBuilder {
 public:
  explicit ProfileBuilder(std::pmr::vector<Contract>* kernels) : kernels_(kernels) {}

  Contract& add(std::string_view name, Route route) {
    Contract& contract = kernels_->emplace_back(memory());
    contract.name = name;
    contract.route = route;
    return contract;
  }
  IntList ints(std::initializer_list<int32_t> values) const {
    return ints(values.begin(), values.size());
  }
  IntList ints(const int32_t* values, size_t count) const {
    return std::pmr::vector<int32_t>(values, values + count, memory());
  }
  template <typename List = std::initializer_list<std::string_view>>
  StringList strings(const List& values) const {
    std::pmr::vector<std::pmr::string> list(memory());
    for (const std::string_view value : values) list.emplace_back(value);
    return list;
  }

 private:
  std::pmr::memory_resource* memory() const { return kernels_->get_allocator().resource(); }
  std::pmr::vector<Contract>* kernels_;
};

// AITER behind ATOM's MHA builder.
void aiter_mha(ProfileBuilder& profile, bool with_device_lengths) {
  Contract& decode = profile.add("pa_decode_gluon", Route::kDecode);
  decode.uniform = true;
  decode.max_query_len = 4;
  decode.max_query_len_x_group = 64;
  decode.page_sizes = profile.ints({16, 64, 1024});
  decode.equal_kv_rows = true;
  decode.equal_scale_rows = true;
  decode.archs = profile.strings({"gfx942", "gfx950"});
  profile.add("gather_varlen_merge", Route::kExtend).exact_seq_lens = true;
  if (with_device_lengths) {
    profile.add("unified_varlen", Route::kExtend).features = kUnifiedFeatures;
  }
  profile.add("varlen_causal", Route::kPrefill).context = Context::kNone;
}

void minimax_m3_sparse(ProfileBuilder& profile) {
  Contract& decode = profile.add("m3_decode", Route::kDecode);
  decode.uniform = true;
  decode.block_sizes = profile.ints({128});
  decode.head_sizes = profile.ints({128});
  // Reads cu_seqlens and context lengths: any lengths, any context.
  Contract& prefill = profile.add("m3_prefill", Route::kPrefill);
  prefill.block_sizes = profile.ints({128});
  prefill.head_sizes = profile.ints({128});
}

void unified(ProfileBuilder& profile) {
  Contract& extend = profile.add("unified_attention", Route::kExtend);
  extend.graph = Capture::kAlways;
  extend.features = kUnifiedFeatures;
}

// The companion module: whatever src/hip/kernels.inc lists.
template <size_t kRoutes, size_t kPairs>
void companion(ProfileBuilder& profile, const hip::KernelRoute (&routes)[kRoutes],
               const hip::HeadPairs<kPairs>& pairs, uint32_t dtypes, uint32_t masks,
               uint32_t features) {
  for (const hip::KernelRoute& route : routes) {
    Contract& contract = profile.add(route.name, static_cast<Route>(route.route));
    contract.max_query_len = route.max_query_len;
    contract.groups = profile.ints(hip::kGroups.data(), hip::kGroups.size());
    contract.head_sizes = profile.ints(pairs.head_sizes.data(), pairs.count);
    contract.v_head_sizes = profile.ints(pairs.v_head_sizes.data(), pairs.count);
    contract.page_sizes = profile.ints(hip::kPageSizes.data(), hip::kPageSizes.size());
    contract.archs = profile.strings(hip::kArchs);
    contract.masks = masks;
    contract.features = features;
    contract.dtypes = dtypes;
    contract.scales = hip::kScales;
    contract.layouts = hip::kLayouts;
    contract.query_tile = hip::kQueryTile;
    contract.kv_tile = hip::kKvTile;
    contract.graph = Capture::kAlways;
  }
}

void companion_dense(ProfileBuilder& profile) {
  companion(profile, hip::kDenseRoutes, hip::kDensePairs, hip::all_dtypes(hip::kAttentionLines),
            hip::kMasks, hip::kFeatures);
}

void companion_m3(ProfileBuilder& profile, std::pmr::vector<Contract>* kernels) {
  companion(profile, hip::kM3Routes, hip::kM3Pairs, hip::all_dtypes(hip::kM3SparseLines),
            hip::kCausal, kFeatureLse);
  for (Contract& contract : *kernels) {
    contract.block_sizes = profile.ints({hip::kM3BlockTokens});
    contract.sliding_window = false;
  }
}

}  // namespace

bool built_in_profile(std::string_view name, std::pmr::vector<Contract>* kernels) {
  kernels->clear();
  ProfileBuilder profile(kernels);
  if (name == "aiter_mha") {
    aiter_mha(profile, false);
  } else if (name == "aiter_fa") {  // vLLM's builder
    aiter_mha(profile, true);
  } else if (name == "minimax_m3_sparse") {
    minimax_m3_sparse(profile);
  } else if (name == "unified") {
    unified(profile);
  } else if (name == "hip") {
    companion_dense(profile);
  } else if (name == "hip_m3") {
    companion_m3(profile, kernels);
  } else {
    return false;
  }
  return true;
}

}  // namespace attnplan
