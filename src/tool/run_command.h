// attnplan run
#pragma once

#include <string>
#include <vector>

#include "cpu/run.h"
#include "tool/exit_status.h"

namespace CLI {
class App;
}

namespace attnplan::tool {

struct RunCommandOptions {
  std::vector<std::string> files;
  std::string backend;
  bool explain = false;
  bool quick = false;
  std::string device = "cpu";  // or "hip": the companion library's kernels on the first GPU
  std::string library;         // path of libattnplan_hip.so; empty: where the loader looks
  cpu::RunOptions execution;
};

void add_run_options(CLI::App& command, RunCommandOptions& options);

ExitStatus run_batches(const RunCommandOptions& options);

}  // namespace attnplan::tool
