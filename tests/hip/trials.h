// The problems that a run on a GPU goes through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hip/description.h"

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

}  // namespace attnplan::hip_test
