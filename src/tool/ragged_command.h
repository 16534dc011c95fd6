// attnplan ragged
#pragma once

#include <string>
#include <vector>

#include "tool/exit_status.h"

namespace attnplan::tool {

struct RaggedOptions {
  std::vector<std::string> files;  // traces; "-" is standard input
  std::string backend = "aiter_mha";
  bool markdown = false;
};

ExitStatus show_ragged(const RaggedOptions& options);

}  // namespace attnplan::tool
