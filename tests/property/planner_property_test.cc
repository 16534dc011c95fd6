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

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::BatchStructs;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Calls `check(seed)` for every seed of this run until five have failed. A check returns what is
// wrong, or an empty string.
template <typename Check>
void for_each_seed(uint64_t count, Check check) {
  const uint64_t only = from_environment("ATTNPLAN_PROPERTY_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : from_environment("ATTNPLAN_PROPERTY_BATCHES", count);
  int failures = 0;
  for (uint64_t seed = first; seed <= last && failures < 5; ++seed) {
    const std::string wrong = check(seed);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << "ATTNPLAN_PROPERTY_SEED=" << seed << "\n"
                  << wrong << "\n"
                  << oracle::batch_to_json(generate_batch(seed)).dump();
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
  if (plan.size() == 0) return error.raw().code != 0 ? "" : "neither a plan nor an error code";
  return check_plan(batch, structs.step(), plan);
}

TEST(PlannerProperty, AgreesWithTheNaivePlanner) {
  const Scratch scratch = create_scratch();
  uint64_t planned = 0, refused = 0;
  for_each_seed(200'000, [&](uint64_t seed) -> std::string {
    const Batch batch = generate_batch(seed);
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
  if (from_environment("ATTNPLAN_PROPERTY_SEED", 0) != 0) return;
  EXPECT_GT(planned, 2 * refused) << "the generator makes too few valid batches";
  EXPECT_GT(refused, planned / 20) << "the generator makes too few invalid batches";
}

TEST(PlannerProperty, NoRaggedPolicyLosesARow) {
  const Scratch scratch = create_scratch();
  for_each_seed(20'000, [&](uint64_t seed) -> std::string {
    Batch batch = generate_batch(seed);
    for (attnplan_ragged_policy policy :
         {ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_UNIFORM_PREFIX, ATTNPLAN_RAGGED_SPLIT_RUNS}) {
      batch.config.ragged = policy;
      const std::string wrong = plan_and_check(batch, scratch.get());
      if (!wrong.empty()) return "policy " + std::to_string(policy) + ": " + wrong;
    }
    return "";
  });
}

TEST(PlannerProperty, ReversedBatchesAreBatches) {
  const Scratch scratch = create_scratch();
  for_each_seed(50'000, [&](uint64_t seed) {
    return plan_and_check(reversed(generate_batch(seed)), scratch.get());
  });
}

}  // namespace
}  // namespace attnplan::property
