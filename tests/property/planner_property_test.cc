// Seeded random batches: the library against the naive planner, and against properties that
// neither of them is trusted with. ATTNPLAN_PROPERTY_SEED=N replays one batch, and
// ATTNPLAN_PROPERTY_BATCHES=N changes how many there are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "batch_json.h"
#include "compare.h"
#include "facts.h"
#include "generate.h"
#include "naive_plan.h"
#include "shrink.h"

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::BatchStructs;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Checks the batch of every seed of this run until five have failed. A check returns what is wrong,
// or an empty string.
void for_each_batch(uint64_t count, const Check& check) {
  const uint64_t only = from_environment("ATTNPLAN_PROPERTY_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : from_environment("ATTNPLAN_PROPERTY_BATCHES", count);
  int failures = 0;
  for (uint64_t seed = first; seed <= last && failures < 5; ++seed) {
    const Batch batch = generate_batch(seed);
    const std::string wrong = check(batch);
    if (wrong.empty()) continue;
    ++failures;
    const Batch small = shrink(batch, check);
    ADD_FAILURE() << "ATTNPLAN_PROPERTY_SEED=" << seed << ": " << wrong << "\n"
                  << oracle::batch_to_json(batch).dump() << "\nshrunk: " << check(small) << "\n"
                  << oracle::batch_to_json(small).dump();
  }
}

size_t kernels_of(const Batch& batch) { return batch.kernels ? batch.kernels->size() : 4; }

// Plans with the library alone and tests whatever comes of it.
std::string plan_and_check(const Batch& batch, attnplan_scratch* scratch) {
  const BatchStructs structs(batch);
  Error error(static_cast<size_t>(batch.num_reqs()), kernels_of(batch));
  const Planner planner = create_planner(structs.config(), &error);
  if (!planner) return "";
  const Buffer plan = build(planner.get(), scratch, structs.step(), structs.group(), &error);
  if (plan.size() == 0)
    return error.raw().status != ATTNPLAN_OK ? "" : "neither a plan nor an error";
  return check_plan(batch, structs.step(), plan);
}

TEST(PlannerProperty, AgreesWithTheNaivePlanner) {
  const Scratch scratch = create_scratch();
  uint64_t planned = 0, refused = 0;
  for_each_batch(300'000, [&](const Batch& batch) -> std::string {
    const BatchStructs structs(batch);
    Error error(static_cast<size_t>(batch.num_reqs()), kernels_of(batch));
    const Planner planner = create_planner(structs.config(), &error);
    const Buffer plan =
        planner ? build(planner.get(), scratch.get(), structs.step(), structs.group(), &error)
                : Buffer();
    const oracle::NaivePlan naive =
        oracle::naive_plan(structs.config(), structs.step(), structs.group());
    ++(naive.error ? refused : planned);
    std::string wrong =
        first_difference(naive, structs.config(), structs.step(), planner.get(), plan, error);
    if (!wrong.empty() || !planner) return wrong;
    if (plan.size() > 0) wrong = check_plan(batch, structs.step(), plan);
    if (!wrong.empty()) return wrong;
    return check_calls(batch, structs, planner.get(), scratch.get(), plan);
  });
  RecordProperty("planned", static_cast<int>(planned));
  RecordProperty("refused", static_cast<int>(refused));
  if (planned + refused < 1000) return;  // a replay says nothing about the generator
  EXPECT_GT(planned, refused) << "the generator makes too few valid batches";
  EXPECT_GT(refused, planned / 20) << "the generator makes too few invalid batches";
}

TEST(PlannerProperty, NoRaggedPolicyLosesARow) {
  const Scratch scratch = create_scratch();
  for_each_batch(20'000, [&](const Batch& batch) -> std::string {
    Batch changed = batch;
    for (attnplan_ragged_policy policy :
         {ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_UNIFORM_PREFIX, ATTNPLAN_RAGGED_SPLIT_RUNS}) {
      changed.config.ragged = policy;
      const std::string wrong = plan_and_check(changed, scratch.get());
      if (!wrong.empty()) return "policy " + std::to_string(policy) + ": " + wrong;
    }
    return "";
  });
}

TEST(PlannerProperty, ExplanationsNameWhatTheyExplain) {
  const Scratch scratch = create_scratch();
  for_each_batch(20'000, [&](const Batch& batch) -> std::string {
    const BatchStructs structs(batch);
    Error error;
    const Planner planner = create_planner(structs.config(), &error);
    if (!planner) return "";
    const Buffer plan =
        build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
    return plan.size() == 0 ? "" : check_explain(structs, planner.get(), plan);
  });
}

TEST(PlannerProperty, ReversedBatchesAreBatches) {
  const Scratch scratch = create_scratch();
  for_each_batch(
      50'000, [&](const Batch& batch) { return plan_and_check(reversed(batch), scratch.get()); });
}

}  // namespace
}  // namespace attnplan::property
