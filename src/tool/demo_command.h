// attnplan demo: the scenarios that made this project, planned, explained and executed.
#pragma once

#include <string>

#include "tool/exit_status.h"

namespace attnplan::tool {

struct DemoOptions {
  std::string data;  // folder with cases/ and traces/
};

// Everything printed is computed in this run. kExitRefused where a batch could not be planned or an
// execution was wrong, kExitUnusable where the data is not there.
ExitStatus run_demo(const DemoOptions& options);

}  // namespace attnplan::tool
