// The header's hashes tell steps and planners apart: a change of either that a plan could depend
// on changes its hash, and no other.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "batch_json.h"
#include "generate.h"
#include "library.h"

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::BatchStructs;

struct Hashes {
  uint64_t step = 0;
  uint64_t planner = 0;
};

std::optional<Hashes> hashes_of(const Batch& batch) {
  const BatchStructs structs(batch);
  Error error;
  const Planner planner = create_planner(structs.config(), &error);
  if (!planner) return std::nullopt;
  const Scratch scratch = create_scratch();
  const Buffer plan = build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
  if (plan.size() == 0) return std::nullopt;
  return Hashes{header_of(plan).step_hash, header_of(plan).planner_hash};
}

using Change = std::function<void(Dice*, Batch*)>;

template <typename T>
void bump(Dice* dice, std::vector<T>* values) {
  if (!values->empty()) {
    ++(*values)[static_cast<size_t>(dice->in(0, static_cast<int64_t>(values->size()) - 1))];
  }
}

const std::vector<Change> kStepChanges = {
    [](Dice* dice, Batch* b) { bump(dice, &b->query); },
    [](Dice* dice, Batch* b) {
      if (b->seq_lens) bump(dice, &*b->seq_lens);
    },
    [](Dice* dice, Batch* b) {
      if (b->num_computed_tokens) bump(dice, &*b->num_computed_tokens);
    },
    [](Dice* dice, Batch* b) {
      if (b->num_prompt_tokens) bump(dice, &*b->num_prompt_tokens);
    },
    [](Dice* dice, Batch* b) {
      if (b->num_known_tokens) bump(dice, &*b->num_known_tokens);
    },
    [](Dice*, Batch* b) { b->step.phase = (b->step.phase + 1) % 4; },
    [](Dice*, Batch* b) { b->step.flags ^= ATTNPLAN_STEP_SEQ_LENS_INEXACT; },
    [](Dice*, Batch* b) { b->step.flags ^= ATTNPLAN_STEP_QUERY_LENS_INEXACT; },
};

const std::vector<Change> kPlannerChanges = {
    [](Dice*, Batch* b) { b->config.decode_threshold = b->config.decode_threshold == 7 ? 8 : 7; },
    [](Dice*, Batch* b) { b->config.sections ^= 1u << ATTNPLAN_SECTION_SEQ_LENS; },
    [](Dice*, Batch* b) { b->config.order ^= 1; },
    [](Dice*, Batch* b) { b->config.max_segments = b->config.max_segments == 5 ? 6 : 5; },
    [](Dice*, Batch* b) { b->profile = b->profile == "unified" ? "aiter_fa" : "unified"; },
};

// Changes batches and returns how many of the changed ones could be compared.
int compare_hashes(const std::vector<Change>& changes, bool of_step) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const Batch batch = generate_batch(seed);
    const std::optional<Hashes> before = hashes_of(batch);
    if (!before) continue;
    Dice dice(seed);
    Batch changed = batch;
    dice.pick(changes)(&dice, &changed);
    if (batch_to_json(changed).dump() == batch_to_json(batch).dump()) continue;
    const std::optional<Hashes> after = hashes_of(changed);
    if (!after) continue;
    ++compared;
    EXPECT_EQ(before->step != after->step, of_step) << "seed " << seed;
    EXPECT_EQ(before->planner != after->planner, !of_step) << "seed " << seed;
  }
  return compared;
}

TEST(Hashes, AnotherStepHasAnotherStepHash) { EXPECT_GT(compare_hashes(kStepChanges, true), 300); }

TEST(Hashes, AnotherPlannerHasAnotherPlannerHash) {
  EXPECT_GT(compare_hashes(kPlannerChanges, false), 300);
}

}  // namespace
}  // namespace attnplan::property
