// The right answer in float64, by the oracle of src/cpu on exactly the numbers that are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "hip/contents.h"
#include "hip/description.h"
#include "hip/step.h"

namespace attnplan::hip_test {

struct Reference {
  std::vector<char> known;  // [rows, q heads]: where the answer was computed
  std::vector<double> out;  // [rows, q heads, v head size]
  std::vector<double> lse;  // [rows, q heads]
};

Reference compute_reference(const Description& description, const Step& step,
                            const Contents& contents);

}  // namespace attnplan::hip_test
