// A problem of attention, and what comes of it on the device under test.
#pragma once

#include <vector>

#include "hip/contents.h"
#include "hip/description.h"
#include "hip/judge.h"
#include "hip/reference.h"
#include "hip/step.h"

namespace attnplan::hip_test {

class Problem {
 public:
  explicit Problem(const Description& description);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // As the description says.
  Verdict solve() const;
  // Plans it and runs the plan with the kernels named; whatever goes wrong is a failure. With
  // `outputs`: also what came out.
  Verdict solve(Kernels kernels, std::vector<double>* outputs = nullptr) const;

  const Description& description() const { return description_; }

 private:
  Verdict solve_refreshed() const;
  Verdict solve_written() const;
  void replay(const Step& bounds, const Plan& plan, Tensors* tensors) const;

  Verdict solve_edited() const;

  Description description_;
  Step planned_;
  Step step_;
  Contents contents_;
  Reference reference_;
};

}  // namespace attnplan::hip_test
