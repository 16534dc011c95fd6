// The problems that a run on a GPU goes through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hip/description.h"
#include "hip/m3_problem.h"

namespace attnplan::hip_test {

struct Selection {
  uint64_t seed = 1;
  bool quick = false;       // a reduced matrix, for tools that make kernels slow
  std::string filter;       // part of a problem's name; empty: all
  int32_t num_workers = 0;  // resident blocks of the device
};

// A problem's family is its kernel: the name up to the batch.
std::string family_of(const Description& description);

std::vector<Description> select_trials(const Selection& selection);

// MiniMax-M3 has problems of its own.
struct M3Trial {
  std::string name;    // family, then a number
  std::string family;  // "m3/bf16/plain"
  M3Description description;
};
std::vector<M3Trial> select_m3_trials(const Selection& selection);

}  // namespace attnplan::hip_test
