#include "planner/profiles.h"

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
    return std::pmr::vector<int32_t>(values, memory());
  }
  StringList strings(std::initializer_list<std::string_view> values) const {
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
  } else {
    return false;
  }
  return true;
}

}  // namespace attnplan
