// Steps whose lengths are valid but enormous. Their size is arithmetic: nothing is counted out or
// kept before the answer, which is a size, CAPACITY_EXCEEDED or BUFFER_TOO_SMALL.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr int64_t kMost = INT32_MAX;
constexpr int64_t kUnlimited = INT64_MAX;
constexpr int64_t kDefaultLimit = int64_t{1} << 30;  // docs/planning.md
constexpr size_t kSmall = 1 << 16;

int64_t g_allocated = 0;
void* allocate(void*, size_t bytes, size_t alignment) {
  g_allocated += static_cast<int64_t>(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void deallocate(void*, void* pointer, size_t, size_t) { std::free(pointer); }

struct Absurd {
  const char* name;
  int32_t section;
  std::vector<int32_t> query_lens, seq_lens;
  int64_t bytes;  // that the sections take, without the small ones and the table in front
};

// One engine's planner for all of them: chunks, local batches and pages as small as they get.
attnplan_config config_of(int32_t section, const attnplan_kv_cache* cache) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "unified";
  config.decode_threshold = 1;
  config.local_attention_chunk = 1;
  config.context_parallel_world = 2;
  config.chunk_workspace_tokens = 16;
  config.kv_cache = cache;
  config.sections = uint64_t{1} << section;
  return config;
}

class AbsurdStep : public testing::TestWithParam<Absurd> {
 protected:
  AbsurdStep() {
    const attnplan_allocator hooks = {allocate, deallocate, nullptr};
    attnplan_scratch* scratch = nullptr;
    EXPECT_EQ(attnplan_scratch_create(&hooks, &scratch, nullptr), ATTNPLAN_OK);
    scratch_.reset(scratch);
    g_allocated = 0;
    const bool pages = GetParam().section == ATTNPLAN_SECTION_PAGE_TABLE;
    cache_.num_blocks = 4096;
    cache_.block_size = 1 << 20;
    cache_.page_size = 16;
    config_ = config_of(GetParam().section, pages ? &cache_ : nullptr);
    step_.num_reqs = static_cast<int32_t>(GetParam().query_lens.size());
    step_.query_lens = GetParam().query_lens.data();
    step_.seq_lens = GetParam().seq_lens.data();
    ids_.resize(GetParam().query_lens.size() * kColumns);
    group_.block_ids = ids_.data();
    group_.columns = kColumns;
  }

  static constexpr int32_t kColumns = 2048;
  attnplan_kv_cache cache_ = ATTNPLAN_KV_CACHE_INIT;
  attnplan_config config_ = ATTNPLAN_CONFIG_INIT;
  attnplan_step step_ = ATTNPLAN_STEP_INIT;
  attnplan_group group_ = ATTNPLAN_GROUP_INIT;
  std::vector<int32_t> ids_;
  Scratch scratch_;
};

TEST_P(AbsurdStep, IsBeyondTheDefaultLimit) {
  Error error;
  const Planner planner = property::create_planner(config_, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  size_t bytes = 77;
  ASSERT_EQ(attnplan_plan_size(planner.get(), scratch_.get(), &step_, &group_, &bytes, error.get()),
            ATTNPLAN_PLAN_ERROR);
  EXPECT_EQ(error.raw().code, ATTNPLAN_CODE_CAPACITY_EXCEEDED);
  EXPECT_EQ(error.raw().limit, kDefaultLimit);
  EXPECT_GE(error.raw().value, GetParam().bytes);
  EXPECT_LE(error.raw().value, GetParam().bytes + static_cast<int64_t>(kSmall));
  EXPECT_EQ(bytes, 77u);
  EXPECT_LT(g_allocated, 1 << 20);
}

TEST_P(AbsurdStep, HasASizeAndNoRoom) {
  Error error;
  config_.max_sections_bytes = kUnlimited;
  const Planner planner = property::create_planner(config_, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  size_t bytes = 0;
  ASSERT_EQ(attnplan_plan_size(planner.get(), scratch_.get(), &step_, &group_, &bytes, error.get()),
            ATTNPLAN_OK)
      << error.raw().message;
  EXPECT_GE(static_cast<int64_t>(bytes), GetParam().bytes);
  EXPECT_LE(static_cast<int64_t>(bytes), GetParam().bytes + static_cast<int64_t>(kSmall));
  alignas(ATTNPLAN_PLAN_ALIGNMENT) std::array<unsigned char, kSmall> out;
  out.fill(0xab);
  size_t written = 77;
  ASSERT_EQ(attnplan_plan_build(planner.get(), scratch_.get(), &step_, &group_, out.data(),
                                out.size(), &written, error.get()),
            ATTNPLAN_BUFFER_TOO_SMALL);
  EXPECT_EQ(error.raw().value, static_cast<int64_t>(bytes));
  for (unsigned char byte : out) ASSERT_EQ(byte, 0xab);
  EXPECT_LT(g_allocated, 1 << 20);
}

constexpr int32_t kRows = 1 << 30;
constexpr int32_t kTokens = static_cast<int32_t>(kMost);

INSTANTIATE_TEST_SUITE_P(
    Sections, AbsurdStep,
    testing::Values(
        Absurd{"row_request", ATTNPLAN_SECTION_ROW_REQUEST, {kRows}, {kTokens}, int64_t{4} * kRows},
        Absurd{"row_position",
               ATTNPLAN_SECTION_ROW_POSITION,
               {kRows, 1, kRows - 2},
               {kTokens, kTokens, kRows},
               int64_t{8} * kRows - 4},
        Absurd{"context_parallel",
               ATTNPLAN_SECTION_CONTEXT_PARALLEL,
               {0, kTokens},
               {kTokens, kTokens},
               4 * kMost},
        Absurd{"local", ATTNPLAN_SECTION_LOCAL, {1, kRows}, {9, kTokens}, int64_t{16} * kRows + 16},
        // 16 tokens of workspace: chunks of 8 tokens of each of two requests.
        Absurd{"chunks",
               ATTNPLAN_SECTION_CHUNKS,
               {2, 2},
               {kTokens, kTokens},
               (int64_t{1} << 28) * (16 + 4 * 3)},
        // One request: 16 tokens in each of its chunks, and every token in the map.
        Absurd{"chunk_token_to_request",
               ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST,
               {2},
               {kTokens},
               (int64_t{1} << 27) * (16 + 4 * 2) + 4 * (kMost - 2)},
        Absurd{"page_table",
               ATTNPLAN_SECTION_PAGE_TABLE,
               {1, 1, 1},
               {kTokens, 5, 5},
               int64_t{3} * 4 * 2048 * (1 << 16)}),
    [](const auto& test) { return test.param.name; });

// What does not grow with lengths is planned as ever.
TEST(Absurd, SmallSectionsStaySmall) {
  const int32_t query_lens[] = {kRows, 1}, seq_lens[] = {kTokens, kTokens};
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.num_reqs = 2;
  step.query_lens = query_lens;
  step.seq_lens = seq_lens;
  for (int32_t section :
       {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_CONTEXT_LENS,
        ATTNPLAN_SECTION_WINDOW, ATTNPLAN_SECTION_LAUNCH}) {
    Error error;
    const Planner planner = property::create_planner(config_of(section, nullptr), &error);
    ASSERT_TRUE(planner) << error.raw().message;
    const Scratch scratch = property::create_scratch();
    EXPECT_GT(property::build(planner.get(), scratch.get(), step, nullptr, &error).size(), 0u)
        << error.raw().message;
  }
}

// Chunks are counted by int32: beyond that there is no list, whatever the limit.
TEST(Absurd, MoreChunkStartsThanAnIndexCanName) {
  const std::vector<int32_t> query_lens(16, 2), seq_lens(16, kTokens);
  attnplan_config config = config_of(ATTNPLAN_SECTION_CHUNKS, nullptr);
  config.max_sections_bytes = kUnlimited;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.num_reqs = 16;
  step.query_lens = query_lens.data();
  step.seq_lens = seq_lens.data();
  Error error;
  const Planner planner = property::create_planner(config, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  const Scratch scratch = property::create_scratch();
  size_t bytes = 0;
  EXPECT_EQ(attnplan_plan_size(planner.get(), scratch.get(), &step, nullptr, &bytes, error.get()),
            ATTNPLAN_PLAN_ERROR);
  EXPECT_EQ(error.raw().code, ATTNPLAN_CODE_CAPACITY_EXCEEDED);
  EXPECT_EQ(error.raw().value, (kMost - 2) * 17);
  EXPECT_EQ(error.raw().limit, kMost);
}

// The same of a row of the page table.
TEST(Absurd, MorePagesInARowThanItsWidthCanSay) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = 16;
  cache.block_size = 1 << 20;
  cache.page_size = 1;
  attnplan_config config = config_of(ATTNPLAN_SECTION_PAGE_TABLE, &cache);
  config.max_sections_bytes = kUnlimited;
  const int32_t query_lens[] = {1}, seq_lens[] = {kTokens};
  const std::vector<int32_t> ids(2048);
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.num_reqs = 1;
  step.query_lens = query_lens;
  step.seq_lens = seq_lens;
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = ids.data();
  group.columns = 2048;
  Error error;
  const Planner planner = property::create_planner(config, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  const Scratch scratch = property::create_scratch();
  size_t bytes = 0;
  EXPECT_EQ(attnplan_plan_size(planner.get(), scratch.get(), &step, &group, &bytes, error.get()),
            ATTNPLAN_PLAN_ERROR);
  EXPECT_EQ(error.raw().code, ATTNPLAN_CODE_CAPACITY_EXCEEDED);
  EXPECT_EQ(error.raw().value, kMost + 1);
}

// A fixed layout has the size that its limits ask for, and no number wraps on the way there.
TEST(Absurd, LimitsMultiplyWithoutWrapping) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = 16;
  cache.block_size = 16;
  cache.page_size = 1;
  attnplan_config config = config_of(ATTNPLAN_SECTION_PAGE_TABLE, &cache);
  config.sections |= uint64_t{1} << ATTNPLAN_SECTION_CHUNKS |
                     uint64_t{1} << ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST |
                     uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDICES;
  config.max_model_len = config.max_num_seqs = config.max_num_batched_tokens = kTokens;
  Error error;
  const Planner planner = property::create_planner(config, &error);
  ASSERT_TRUE(planner) << error.raw().message;
  size_t bytes = 0;
  ASSERT_EQ(attnplan_plan_bound(planner.get(), &bytes, error.get()), ATTNPLAN_OK);
  EXPECT_GT(bytes, size_t{1} << 50);
  EXPECT_LT(bytes, size_t{1} << 63);
}

}  // namespace
}  // namespace attnplan::plan
