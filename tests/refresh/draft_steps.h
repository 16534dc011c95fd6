// Draft steps 2 to k: one plan of the last step's lengths, which the device leads from step to
// step.
#pragma once

#include "subject.h"

namespace attnplan::refresh {

class DraftSteps {
 public:
  static constexpr int32_t kSteps = 6;
  static constexpr int32_t kBlockSize = 16, kColumns = 5, kMost = kBlockSize * kColumns;

  // Tokens of each request at first; 0: a pad.
  explicit DraftSteps(const Ints& first);
  // Some of them about to reach the end of their table.
  explicit DraftSteps(uint64_t seed);

  int32_t requests() const { return static_cast<int32_t>(first_.size()); }
  // After so many steps.
  Ints lengths(int32_t step) const;
  Batch batch(int32_t step) const;
  Buffer plan(int32_t step) const;  // empty where the planner refuses
  Tensors tensors() const;          // of step 0
  cpu::RefreshRules rules() const;

 private:
  Ints first_;
};

// What is wrong with a plan that was refreshed after so many steps; empty: nothing.
std::string judge_draft_step(const DraftSteps& steps, const Buffer& refreshed, int32_t step);

}  // namespace attnplan::refresh
