#include "hip/problem.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include "hip/launch.h"
#include "hip/other_steps.h"
#include "hip/plan_edit.h"
#include "hip/planning.h"
#include "hip/recorded.h"
#include "hip/tensors.h"

namespace attnplan::hip_test {
namespace {

Verdict failed(const std::string& what) {
  Verdict verdict;
  verdict.failures.push_back(what);
  return verdict;
}

}  // namespace

Problem::Problem(const Description& description)
    : description_(description),
      planned_(draw_step(description_)),
      step_(description_.way == Way::kKeyless ? without_tokens(description_, planned_) : planned_),
      contents_(description_, step_),
      reference_(compute_reference(description_, step_, contents_)) {}

Verdict Problem::solve() const {
  try {
    switch (description_.way) {
      case Way::kPlan:
        return solve(description_.kernels);
      case Way::kPadded:
        return solve(description_.kernels);
      case Way::kRefresh:
      case Way::kGraph:
      case Way::kTaken:
        return solve_refreshed();
      case Way::kReplayed:
      case Way::kKeyless:
        return solve_edited();
      case Way::kWrite:
        return solve_written();
    }
    return failed("no such way");
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

Verdict Problem::solve_refreshed() const {
  const Step bounds = description_.way == Way::kTaken ? draw_shares(description_, step_)
                                                      : draw_bounds(description_, step_);
  const Plan plan(description_, bounds, description_.kernels);
  Tensors tensors(description_, step_, contents_, plan, workspace_bytes(description_, step_, plan));
  if (description_.way == Way::kGraph) {
    replay(bounds, plan, &tensors);
  } else {
    const DeviceLengths lengths(step_);
    refresh(description_, step_, plan, tensors, lengths);
    launch(description_, step_, contents_, plan, tensors);
  }
  return judge(description_, step_, reference_, tensors);
}

// The device's copy of the plan is not what the launches were made of.
Verdict Problem::solve_edited() const {
  const bool replayed = description_.way == Way::kReplayed;
  const Plan plan(description_, planned_, description_.kernels);
  const Plan launched(description_, replayed ? draw_other(planned_) : planned_,
                      description_.kernels);
  Tensors tensors(description_, step_, contents_, plan,
                  workspace_bytes(description_, step_, launched));
  if (replayed) {
    write_over(launched, plan, &tensors.plan);
  } else {
    take_tokens(plan, step_, &tensors.plan);
  }
  launch(description_, step_, contents_, launched, tensors);
  return judge(description_, step_, reference_, tensors);
}

// Captured once, replayed with the host's bounds, then with the truth.
void Problem::replay(const Step& bounds, const Plan& plan, Tensors* tensors) const {
  DeviceLengths lengths(bounds);
  const Recorded steps([&](hip::Stream stream) {
    refresh(description_, step_, plan, *tensors, lengths, stream);
    launch(description_, step_, contents_, plan, *tensors, stream);
  });
  for (const Step* truth : {&bounds, &step_}) {
    lengths.set(*truth);
    for (auto* buffer : {&tensors->out, &tensors->lse, &tensors->workspace}) {
      if (buffer->has_value()) (*buffer)->poison();
    }
    steps.run();
  }
}

Verdict Problem::solve_written() const {
  const Plan plan(description_, step_, description_.kernels);
  Tensors tensors(description_, step_, contents_, plan, workspace_bytes(description_, step_, plan));
  const std::vector<uint8_t> filled = tensors.cache.read(0, tensors.cache.bytes());
  tensors.cache.poison();
  write_cache(description_, step_, contents_, tensors);
  const std::vector<uint8_t> written = tensors.cache.read(0, tensors.cache.bytes());
  const auto differs = std::mismatch(filled.begin(), filled.end(), written.begin());
  if (differs.first != filled.end()) {
    return failed("byte " + std::to_string(differs.first - filled.begin()) + " of " +
                  std::to_string(filled.size()) + " of the cache: " +
                  std::to_string(*differs.second) + " for " + std::to_string(*differs.first));
  }
  launch(description_, step_, contents_, plan, tensors);
  return judge(description_, step_, reference_, tensors);
}

Verdict Problem::solve(Kernels kernels, std::vector<double>* outputs) const {
  try {
    const Plan plan(description_, step_, kernels);
    const Tensors tensors(description_, step_, contents_, plan,
                          workspace_bytes(description_, step_, plan));
    launch(description_, step_, contents_, plan, tensors);
    if (outputs != nullptr) *outputs = hip_test::outputs(description_, step_, tensors);
    return judge(description_, step_, reference_, tensors);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace attnplan::hip_test
