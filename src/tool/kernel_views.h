// What every kernel of a profile is handed of a cache: its page size and its dtype label.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnplan.h"

namespace attnplan::tool {

struct KernelView {
  std::string name;
  int32_t page_size = 0;  // tokens; 0 where the kernel is refused
  attnplan_dtype label = ATTNPLAN_DTYPE_NONE;
  uint32_t reasons = 0;  // why it can serve no batch of this configuration: bits of attnplan_reason
};

// In profile order, for a configuration with a cache; empty where no planner can be made of it.
std::vector<KernelView> kernel_views(const attnplan_config& config);

}  // namespace attnplan::tool
