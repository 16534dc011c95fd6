// `attnplan bench`: what a plan costs.
#pragma once

#include <cstdint>
#include <string>

namespace attnplan::tool {

struct BenchOptions {
  std::string data;           // folder that holds traces/; empty: no traces
  std::string filter;         // only inputs whose name contains this
  std::string json;           // file for the figures; empty: none
  bool quick = false;         // fewer and shorter repetitions: a look, no measurement
  bool instructions = false;  // count them under callgrind too
  std::string fixed_work;     // plan this input `plans` times and report nothing
  int64_t plans = 1;
};

// Prints the table and writes the JSON. Exit status: 0, or 2 where the arguments are unusable.
int bench(const BenchOptions& options);

}  // namespace attnplan::tool
