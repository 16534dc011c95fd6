#include "cpu/kernel_traits.h"

#include <cstring>

namespace attnplan::cpu {
namespace {

bool built_in(const attnplan_config& config, const char* name) {
  return config.contracts == nullptr && config.profile != nullptr &&
         std::strcmp(config.profile, name) == 0;
}

}  // namespace

bool maps_rows_by_width(const attnplan_config& config, int32_t kernel) {
  if (config.contracts != nullptr) {
    return kernel >= 0 && static_cast<size_t>(kernel) < config.num_contracts &&
           (config.contracts[kernel]->flags & ATTNPLAN_CONTRACT_UNIFORM) != 0;
  }
  // The companion module's decode takes ragged batches.
  return !built_in(config, "hip") && !built_in(config, "hip_m3");
}

std::optional<M3Params> profile_sparse(const attnplan_config& config) {
  if (built_in(config, "minimax_m3_sparse") || built_in(config, "hip_m3")) return M3Params{};
  return std::nullopt;
}

}  // namespace attnplan::cpu
