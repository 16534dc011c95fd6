#include "hip/problem.h"

#include <exception>

#include "hip/launch.h"
#include "hip/planning.h"
#include "hip/tensors.h"

namespace attnplan::hip_test {

Problem::Problem(const Description& description)
    : description_(description),
      step_(draw_step(description_)),
      contents_(description_, step_),
      reference_(compute_reference(description_, step_, contents_)) {}

Verdict Problem::solve(Kernels kernels, std::vector<double>* outputs) const {
  try {
    const Plan plan(description_, step_, kernels);
    const Tensors tensors(description_, step_, contents_, plan,
                          workspace_bytes(description_, step_, plan));
    launch(description_, step_, contents_, plan, tensors);
    if (outputs != nullptr) *outputs = hip_test::outputs(description_, step_, tensors);
    return judge(description_, step_, reference_, tensors);
  } catch (const std::exception& error) {
    Verdict verdict;
    verdict.failures.emplace_back(error.what());
    return verdict;
  }
}

}  // namespace attnplan::hip_test
