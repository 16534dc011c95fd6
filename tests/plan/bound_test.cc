// attnplan_plan_bound: what an engine allocates once.
#include <gtest/gtest.h>

#include "everything.h"

namespace attnplan::plan {
namespace {

TEST(Bound, NoPlanWithinTheLimitsExceedsIt) {
  const Scratch scratch = property::create_scratch();
  int64_t compared = 0, compact = 0, with_work = 0;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    Dice dice(seed);
    Batch batch = random_planner(&dice);
    set_limits(&dice, &batch);
    const BatchStructs of_planner(batch);
    Error error;
    const Planner planner = property::create_planner(of_planner.config(), &error);
    if (!planner) continue;
    size_t bound = 0;
    ASSERT_EQ(attnplan_plan_bound(planner.get(), &bound, error.get()), ATTNPLAN_OK)
        << "seed " << seed << ": " << error.raw().message;
    for (int round = 0; round < 6; ++round) {
      random_step(&dice, &batch);
      if (!within_limits(batch)) continue;
      const BatchStructs structs(batch);
      size_t bytes = 0;
      if (attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), structs.group(), &bytes,
                             error.get()) != ATTNPLAN_OK) {
        ASSERT_NE(error.raw().code, ATTNPLAN_CODE_CAPACITY_EXCEEDED)
            << "seed " << seed << ", round " << round << ": " << error.raw().message;
        continue;
      }
      ASSERT_LE(bytes, bound) << "seed " << seed << ", round " << round;
      ++compared;
      with_work += batch.config.work != ATTNPLAN_WORK_NONE;
      compact += batch.config.section_layout == ATTNPLAN_SECTIONS_COMPACT;
    }
  }
  EXPECT_GT(compared, 4000);
  EXPECT_GT(compact, 1000);
  EXPECT_GT(with_work, 1000);
}

attnplan_config unlimited() {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "unified";
  config.sections = uint64_t{1} << ATTNPLAN_SECTION_SEQ_LENS | uint64_t{1}
                                                                   << ATTNPLAN_SECTION_ROW_REQUEST;
  return config;
}

attnplan_status bound_of(const attnplan_config& config) {
  Error error;
  const Planner planner = property::create_planner(config, &error);
  EXPECT_TRUE(planner) << error.raw().message;
  size_t bytes = 12345;
  const attnplan_status status = attnplan_plan_bound(planner.get(), &bytes, error.get());
  if (status != ATTNPLAN_OK) {
    EXPECT_EQ(bytes, 12345u) << "outputs of a failed call are untouched";
    EXPECT_NE(error.raw().message[0], '\0');
  }
  return status;
}

TEST(Bound, NeedsTheLimitsThatItFollows) {
  attnplan_config config = unlimited();
  EXPECT_EQ(bound_of(config), ATTNPLAN_INVALID_ARGUMENT);
  config.max_num_seqs = 16;
  EXPECT_EQ(bound_of(config), ATTNPLAN_INVALID_ARGUMENT);
  config.max_num_batched_tokens = 256;
  EXPECT_EQ(bound_of(config), ATTNPLAN_OK) << "no section follows the lengths";
  config.max_num_seqs = 0;
  EXPECT_EQ(bound_of(config), ATTNPLAN_INVALID_ARGUMENT);
}

TEST(Bound, NeedsTheLongestRequestWhereASectionFollowsIt) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = 100;
  cache.block_size = 16;
  attnplan_config config = unlimited();
  config.kv_cache = &cache;
  config.max_num_seqs = 16;
  config.max_num_batched_tokens = 256;
  config.sections |= uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDICES;
  EXPECT_EQ(bound_of(config), ATTNPLAN_INVALID_ARGUMENT);
  config.max_model_len = 4096;
  EXPECT_EQ(bound_of(config), ATTNPLAN_OK);
}

// Requests that a draft step's table cuts have a piece of local attention more: its rows without
// keys. Here 18 rows of each make three.
TEST(Bound, HoldsTheLocalPiecesOfAClampedDraftStep) {
  constexpr int32_t kRequests = 4, kRows = 18, kColumns = 5;
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = 8;
  cache.block_size = 16;
  attnplan_config config = unlimited();
  config.kv_cache = &cache;
  config.sections = uint64_t{1} << ATTNPLAN_SECTION_LOCAL;
  config.local_attention_chunk = 32;
  config.section_layout = ATTNPLAN_SECTIONS_FIXED;
  config.max_num_seqs = kRequests;
  config.max_num_batched_tokens = kRequests * kRows;
  const std::vector<int32_t> query(kRequests, kRows), seq(kRequests, 63 + kRows);
  const std::vector<int32_t> ids(kRequests * kColumns, 1);
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = query.data();
  step.seq_lens = seq.data();
  step.num_reqs = kRequests;
  step.phase = ATTNPLAN_PHASE_DRAFT;
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = ids.data();
  group.columns = kColumns;
  Error error;
  const Planner planner = property::create_planner(config, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  const Scratch scratch = property::create_scratch();
  const Buffer plan = property::build(planner.get(), scratch.get(), step, &group, &error);
  ASSERT_GT(plan.size(), 0u) << error.raw().message;
  EXPECT_EQ(property::section_of(plan, ATTNPLAN_SECTION_LOCAL).count, 3 * kRequests);
}

TEST(Bound, NullArgumentsAreToldAndNotFollowed) {
  attnplan_config config = unlimited();
  config.max_num_seqs = 16;
  config.max_num_batched_tokens = 256;
  Error error;
  const Planner planner = property::create_planner(config, &error);
  size_t bytes = 0;
  EXPECT_EQ(attnplan_plan_bound(nullptr, &bytes, nullptr), ATTNPLAN_INVALID_ARGUMENT);
  EXPECT_EQ(attnplan_plan_bound(planner.get(), nullptr, nullptr), ATTNPLAN_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace attnplan::plan
