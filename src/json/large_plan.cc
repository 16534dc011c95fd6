#include "json/large_plan.h"

#include <fmt/format.h>

#include <memory>

namespace attnplan::json {
namespace {

struct Limit {
  const char* name;
  int32_t attnplan_config::*value;
};
constexpr Limit kLimits[] = {
    {"max_num_seqs", &attnplan_config::max_num_seqs},
    {"max_num_batched_tokens", &attnplan_config::max_num_batched_tokens},
    {"max_model_len", &attnplan_config::max_model_len},
};

// 0 where there is no bound.
size_t bound_of(const attnplan_config& config) {
  attnplan_planner* created = nullptr;
  if (attnplan_planner_create(&config, &created, nullptr) != ATTNPLAN_OK) return 0;
  const std::unique_ptr<attnplan_planner, decltype(&attnplan_planner_destroy)> planner(
      created, &attnplan_planner_destroy);
  size_t bytes = 0;
  return attnplan_plan_bound(created, &bytes, nullptr) == ATTNPLAN_OK ? bytes : 0;
}

}  // namespace

// A limit is to blame where half of it would take a quarter off at least: what follows the product
// of two limits is named with both.
std::string why_too_large(const attnplan_config& config, int64_t bytes) {
  std::string text = fmt::format("the plan takes {} bytes, the command holds at most {}", bytes,
                                 kLargestPlanBytes);
  const size_t whole = bound_of(config);
  std::string blamed;
  for (const Limit& limit : kLimits) {
    attnplan_config less = config;
    less.*limit.value /= 2;
    const size_t rest = less.*limit.value > 0 ? bound_of(less) : 0;
    if (rest == 0 || rest > whole - whole / 4) continue;
    blamed +=
        fmt::format("{}{} {}", blamed.empty() ? "" : " and ", limit.name, config.*limit.value);
  }
  if (!blamed.empty()) text += fmt::format(": the fixed layout has room for {}", blamed);
  return text;
}

}  // namespace attnplan::json
