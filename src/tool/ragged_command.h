// attnplan ragged
#pragma once

#include <string>
#include <vector>

#include "tool/batch_loop.h"

namespace attnplan::tool {

struct RaggedOptions {
  std::vector<std::string> files;  // traces, one step a line
  std::string backend = "aiter_mha";
  bool markdown = false;
};

ExitStatus show_ragged(const RaggedOptions& options);

}  // namespace attnplan::tool
