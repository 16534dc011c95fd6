// What attnplan_plan_verify lets pass with the planner, the reference can execute: one number of a
// plan changed at a time, the result may be wrong but every read stays where it belongs.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "cpu/run.h"
#include "everything.h"

namespace attnplan::plan {
namespace {

cpu::RunOptions tiny() {
  cpu::RunOptions options;
  options.max_seq_len = 40;
  options.max_kv_heads = options.max_group = 1;
  options.max_head_size = 4;
  options.max_rows = 4;
  return options;
}

struct Subject {
  explicit Subject(uint64_t seed) : batch(random_batch(seed)), structs(batch) {
    Error error;
    planner = property::create_planner(structs.config(), &error);
    scratch = property::create_scratch();
    size_t bytes = 0;
    if (planner &&
        attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), structs.group(), &bytes,
                           nullptr) == ATTNPLAN_OK &&
        bytes <= 6000) {
      plan = property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
    }
  }
  cpu::RunReport run(const Buffer& blob) const {
    return cpu::run(structs.config(), structs.step(), structs.group(), blob.data(), blob.size(),
                    tiny());
  }

  Batch batch;
  BatchStructs structs;
  Planner planner;
  Scratch scratch;
  Buffer plan;
};

bool is_interesting(const Subject& subject) {
  if (subject.plan.size() == 0) return false;
  const attnplan_plan_header& header = property::header_of(subject.plan);
  return header.num_segments > 1 && header.num_rows < 60 && header.num_sections > 8;
}

// Accepted changes of one plan that were executed.
int64_t execute_changes(const Subject& subject, uint64_t seed) {
  constexpr int32_t kValues[] = {-1, 0, 1, 7, 1 << 20, INT32_MIN, INT32_MAX};
  int64_t executed = 0;
  Buffer blob(subject.plan.size());
  std::memcpy(blob.data(), subject.plan.data(), blob.size());
  for (size_t at = 0; at + 4 <= blob.size(); at += 4) {
    int32_t own = 0;
    std::memcpy(&own, blob.data() + at, sizeof own);
    for (const int32_t value : kValues) {
      if (value == own) continue;
      std::memcpy(blob.data() + at, &value, sizeof value);
      if (attnplan_plan_verify(blob.data(), blob.size(), subject.planner.get(), nullptr, nullptr,
                               nullptr, nullptr) != ATTNPLAN_OK) {
        continue;
      }
      const cpu::RunReport report = subject.run(blob);
      EXPECT_EQ(report.problem, "") << "seed " << seed << ", byte " << at << ": " << value;
      ++executed;
      break;  // one accepted value a place: a run costs more than a check
    }
    std::memcpy(blob.data() + at, &own, sizeof own);
  }
  return executed;
}

TEST(VerifiedPlan, IsExecutedWithoutLeavingIt) {
  int plans = 0;
  int64_t executed = 0;
  for (uint64_t seed = 500001; seed < 520000 && plans < 8; ++seed) {
    const Subject subject(seed);
    if (!is_interesting(subject)) continue;
    if (!subject.run(subject.plan).problem.empty()) continue;  // of a kind that it does not run
    ++plans;
    executed += execute_changes(subject, seed);
  }
  EXPECT_EQ(plans, 8);
  EXPECT_GT(executed, 500);
}

}  // namespace
}  // namespace attnplan::plan
