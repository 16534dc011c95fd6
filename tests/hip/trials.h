// The problems that a run on a GPU goes through.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hip/judge.h"

namespace attnplan::hip_test {

struct Selection {
  uint64_t seed = 1;
  bool quick = false;       // a reduced matrix, for tools that make kernels slow
  std::string filter;       // part of a problem's name; empty: all
  int32_t num_workers = 0;  // resident blocks of the device

  bool wants(const std::string& name) const { return name.find(filter) != std::string::npos; }
};

// A problem, ready to be solved.
struct Trial {
  std::string name;
  std::string family;  // a line of the report
  std::string words;
  uint64_t seed;  // with which a run of its name repeats it
  double tolerance;
  std::function<Verdict()> solve;
};

// Attention, MiniMax-M3, plans refreshed on the device, caches written.
std::vector<Trial> select_trials(const Selection& selection);

}  // namespace attnplan::hip_test
