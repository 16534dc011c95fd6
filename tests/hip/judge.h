// Whether what a launch wrote is right: every row, nothing else, and within tolerance.
#pragma once

#include <string>
#include <vector>

#include "hip/contents.h"
#include "hip/description.h"
#include "hip/reference.h"
#include "hip/step.h"
#include "hip/tensors.h"

namespace attnplan::hip_test {

struct Verdict {
  double worst = 0;  // relative error of an output
  double worst_lse = 0;
  int64_t judged = 0;                 // rows and heads that were compared
  int64_t pads = 0;                   // rows behind those of the batch, all of them judged
  std::vector<std::string> failures;  // the first few

  bool ok() const { return failures.empty(); }
};

// Largest |out - reference| over the largest |reference| of the row and head.
double tolerance(const Description& description);

Verdict judge(const Description& description, const Step& step, const Reference& reference,
              const Tensors& tensors);

// Outputs as numbers [rows, q heads, v head size].
std::vector<double> outputs(const Description& description, const Step& step,
                            const Tensors& tensors);

}  // namespace attnplan::hip_test
