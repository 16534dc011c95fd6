#include "tool/kernel_views.h"

#include <memory>

namespace attnplan::tool {

std::vector<KernelView> kernel_views(const attnplan_config& config) {
  attnplan_planner* made = nullptr;
  attnplan_planner_create(&config, &made, nullptr);
  const std::unique_ptr<attnplan_planner, decltype(&attnplan_planner_destroy)> planner(
      made, attnplan_planner_destroy);
  std::vector<KernelView> views;
  for (int32_t k = 0; k < attnplan_planner_num_kernels(planner.get()); ++k) {
    attnplan_kernel_info info = ATTNPLAN_KERNEL_INFO_INIT;
    attnplan_planner_kernel_info(planner.get(), k, &info, nullptr);
    const bool refused = info.reasons != 0;
    views.push_back({attnplan_planner_kernel_name(planner.get(), k), refused ? 0 : info.page_size,
                     refused ? ATTNPLAN_DTYPE_NONE : info.label, info.reasons});
  }
  return views;
}

}  // namespace attnplan::tool
