// The planner's configuration with its defaults filled in.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

int64_t or_default(int64_t value, int64_t absent) { return value == 0 ? absent : value; }

MaybeError read_kernels(const attnplan_config& config, NaiveSetup* setup) {
  if (config.contracts != nullptr) {
    for (size_t i = 0; i < config.num_contracts; ++i) {
      setup->kernels.push_back(contract_from_c(*config.contracts[i]));
    }
  } else {
    const auto profile = builtin_profile(config.profile == nullptr ? "" : config.profile);
    if (!profile) return call_error(ATTNPLAN_INVALID_ARGUMENT);
    setup->kernels = *profile;
  }
  if (setup->kernels.empty()) return call_error(ATTNPLAN_INVALID_ARGUMENT);
  return std::nullopt;
}

attnplan_ragged_policy effective_policy(const attnplan_config& config) {
  if (config.ragged != ATTNPLAN_RAGGED_DEFAULT) return config.ragged;
  if (config.profile_ragged != ATTNPLAN_RAGGED_DEFAULT) return config.profile_ragged;
  return ATTNPLAN_RAGGED_DEMOTE;
}

MaybeError check_scalars(const attnplan_config& config, const NaiveSetup& setup) {
  const auto out_of_range = [](int64_t value, int64_t limit) {
    return plan_error(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE, -1, value, limit);
  };
  for (int64_t count : {setup.decode_threshold, setup.num_q_heads, setup.num_kv_heads,
                        setup.head_size, setup.v_head_size, setup.max_segments}) {
    if (count < 1) return out_of_range(count, 1);
  }
  for (int64_t count : {int64_t{config.max_model_len}, int64_t{config.max_num_seqs},
                        int64_t{config.max_num_batched_tokens}, config.max_sections_bytes,
                        int64_t{config.sliding_window}, int64_t{config.num_workers}}) {
    if (count < 0) return out_of_range(count, 0);
  }
  if (config.num_workers > 65536) return out_of_range(config.num_workers, 65536);
  if (setup.num_q_heads % setup.num_kv_heads != 0) {
    return out_of_range(setup.num_q_heads, setup.num_kv_heads);
  }
  return std::nullopt;
}

}  // namespace

NaiveError plan_error(attnplan_code code, int64_t request, int64_t value, int64_t limit) {
  NaiveError error;
  error.code = code;
  error.request = request;
  error.value = value;
  error.limit = limit;
  return error;
}

NaiveError call_error(attnplan_status status) {
  NaiveError error;
  error.status = status;
  return error;
}

bool NaiveSetup::has_kernel(attnplan_route route) const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [route](const Contract& kernel) { return kernel.route == route; });
}

MaybeError read_setup(const attnplan_config& config, NaiveSetup* setup) {
  setup->arch = config.arch == nullptr ? "gfx950" : config.arch;
  setup->num_q_heads = or_default(config.num_q_heads, 16);
  setup->num_kv_heads = or_default(config.num_kv_heads, 1);
  setup->head_size = or_default(config.head_size, 128);
  setup->v_head_size = or_default(config.v_head_size, setup->head_size);
  setup->decode_threshold = or_default(config.decode_threshold, 1);
  setup->mask = config.mask;
  setup->features = config.features;
  setup->sliding_window = config.sliding_window;
  setup->short_extend_decode = (config.flags & ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE) != 0;
  setup->sort = config.order == ATTNPLAN_ORDER_SORT;
  setup->ragged = effective_policy(config);
  setup->max_segments = or_default(config.max_segments, 8);
  setup->max_model_len = config.max_model_len;
  setup->max_num_seqs = config.max_num_seqs;
  setup->max_num_batched_tokens = config.max_num_batched_tokens;

  if (MaybeError error = read_kernels(config, setup)) return error;
  if (config.kv_cache != nullptr) {
    setup->cache.emplace();
    if (MaybeError error = resolve_cache(*config.kv_cache, *setup, &*setup->cache)) return error;
  }
  return check_scalars(config, *setup);
}

}  // namespace attnplan::oracle
