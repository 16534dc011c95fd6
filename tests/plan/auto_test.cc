// The policy auto: what it says the policies cost, and that it takes the cheapest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr attnplan_ragged_policy kPolicies[] = {
    ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_UNIFORM_PREFIX, ATTNPLAN_RAGGED_SPLIT_RUNS};

struct Built {
  Planner planner;
  Buffer plan;
  attnplan_code code = ATTNPLAN_CODE_NONE;
};

Built build_with(Batch batch, attnplan_ragged_policy policy, attnplan_scratch* scratch) {
  batch.config.ragged = policy;
  const BatchStructs structs(batch);
  Error error;
  Built built;
  built.planner = property::create_planner(structs.config(), &error);
  if (!built.planner) return built;
  built.plan =
      property::build(built.planner.get(), scratch, structs.step(), structs.group(), &error);
  if (built.plan.size() == 0) built.code = error.raw().code;
  return built;
}

// The same plan but for what names the policy that was asked for.
bool same_plan(const Buffer& a, const Buffer& b) {
  const auto strip = [](const Buffer& plan) {
    std::vector<uint8_t> bytes(plan.data(), plan.data() + plan.size());
    attnplan_plan_header header = property::header_of(plan);
    header.planner_hash = 0;
    header.ragged_policy = 0;
    std::fill(header.policy_costs, header.policy_costs + 3, 0);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
  };
  return strip(a) == strip(b);
}

Batch auto_batch(uint64_t seed) {
  Dice dice(seed);
  Batch batch;
  property::generate_model(&dice, &batch);
  property::generate_backend(&dice, &batch);
  property::generate_cache(&dice, &batch);
  random_step(&dice, &batch);
  batch.name = "seed " + std::to_string(seed);
  return batch;
}

TEST(AutoPolicy, TakesTheCheapestAndIsNeverWorseThanDemote) {
  const Scratch scratch = property::create_scratch();
  int judged = 0, chosen[5] = {};
  for (uint64_t seed = 1; seed <= 12000; ++seed) {
    const Batch batch = auto_batch(seed);
    const Built automatic = build_with(batch, ATTNPLAN_RAGGED_AUTO, scratch.get());
    if (automatic.plan.size() == 0) continue;
    const attnplan_plan_header header = property::header_of(automatic.plan);
    if (header.ragged_policy == 0) continue;  // nothing of D had to be decided
    int64_t best = INT64_MAX;
    for (int64_t cost : header.policy_costs) {
      ASSERT_GE(cost, -1) << batch.name;
      if (cost >= 0) best = std::min(best, cost);
    }
    if (best == INT64_MAX) continue;
    ++judged;
    if (header.policy_costs[0] >= 0) {
      ASSERT_LE(best, header.policy_costs[0]) << batch.name;
    }
    // One of the cheapest, said by its own name, gives the same plan.
    bool found = false;
    for (size_t i = 0; i < 3 && !found; ++i) {
      if (header.policy_costs[i] != best) continue;
      const Built alone = build_with(batch, kPolicies[i], scratch.get());
      ASSERT_GT(alone.plan.size(), 0u)
          << batch.name << ": policy " << kPolicies[i] << " costs " << best << " and fails";
      found = same_plan(automatic.plan, alone.plan);
      if (found) {
        EXPECT_EQ(header.ragged_policy, property::header_of(alone.plan).ragged_policy)
            << batch.name;
        ++chosen[kPolicies[i]];
      }
    }
    ASSERT_TRUE(found) << batch.name << ": costs " << header.policy_costs[0] << " "
                       << header.policy_costs[1] << " " << header.policy_costs[2] << ", applied "
                       << header.ragged_policy;
  }
  EXPECT_GT(judged, 300);
  EXPECT_GT(chosen[ATTNPLAN_RAGGED_DEMOTE], 20);
  EXPECT_GT(chosen[ATTNPLAN_RAGGED_SPLIT_RUNS], 20);
}

// -1 says exactly that the policy alone would fail.
TEST(AutoPolicy, CostsNothingOfWhatCannotBeRouted) {
  const Scratch scratch = property::create_scratch();
  int failing = 0;
  for (uint64_t seed = 20001; seed <= 30000; ++seed) {
    const Batch batch = auto_batch(seed);
    const Built automatic = build_with(batch, ATTNPLAN_RAGGED_AUTO, scratch.get());
    if (automatic.plan.size() == 0) {
      for (const attnplan_ragged_policy policy : kPolicies) {
        const Built alone = build_with(batch, policy, scratch.get());
        ASSERT_EQ(alone.plan.size(), 0u) << batch.name << ": auto fails, " << policy << " does not";
      }
      continue;
    }
    const attnplan_plan_header header = property::header_of(automatic.plan);
    if (header.ragged_policy == 0) continue;
    const bool judged = std::any_of(header.policy_costs, header.policy_costs + 3,
                                    [](int64_t cost) { return cost > 0; });
    if (!judged) continue;
    for (size_t i = 0; i < 3; ++i) {
      const Built alone = build_with(batch, kPolicies[i], scratch.get());
      // Without exact lengths a plan may come of another policy than the one asked for.
      if (alone.plan.size() > 0 && property::header_of(alone.plan).ragged_policy != kPolicies[i]) {
        continue;
      }
      ASSERT_EQ(header.policy_costs[i] >= 0, alone.plan.size() > 0)
          << batch.name << ": policy " << kPolicies[i] << ", cost " << header.policy_costs[i];
      failing += alone.plan.size() == 0;
    }
  }
  EXPECT_GT(failing, 10);
}

TEST(AutoPolicy, OthersReportNoCosts) {
  const Scratch scratch = property::create_scratch();
  int planned = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const Built built = build_with(auto_batch(seed), ATTNPLAN_RAGGED_DEMOTE, scratch.get());
    if (built.plan.size() == 0) continue;
    ++planned;
    for (int64_t cost : property::header_of(built.plan).policy_costs) EXPECT_LE(cost, 0);
  }
  EXPECT_GT(planned, 100);
}

}  // namespace
}  // namespace attnplan::plan
