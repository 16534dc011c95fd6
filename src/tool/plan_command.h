// attnplan plan
#pragma once

#include <string>
#include <vector>

#include "tool/exit_status.h"

namespace attnplan::tool {

struct PlanOptions {
  std::vector<std::string> files;
  std::string backend;
  bool explain = false;
  bool pretty = false;
};

ExitStatus plan_batches(const PlanOptions& options);

}  // namespace attnplan::tool
