// MiniMax-M3 block scores and selection: the executor's and the oracle's, against each other and
// against answers worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "cpu/m3_select.h"
#include "cpu/oracle.h"

namespace attnplan::cpu {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Blocks = std::vector<int32_t>;

M3Params params_of(int32_t block_tokens, int32_t top_k, int32_t init_blocks, int32_t local_blocks) {
  M3Params params;
  params.block_tokens = block_tokens;
  params.top_k = top_k;
  params.init_blocks = init_blocks;
  params.local_blocks = local_blocks;
  params.index_head_size = 1;
  return params;
}

// Index keys of one element and a query of 1 make the scores of keys their own values.
Blocks executor_blocks(const M3Params& params, const std::vector<double>& keys) {
  const double query = 1;
  const std::vector<IndexQuery> rows{{&query, static_cast<int64_t>(keys.size()) - 1}};
  return m3_select(params, m3_block_scores(params, rows, {keys.data(), 1})[0]);
}

Blocks oracle_blocks(const M3Params& params, const std::vector<double>& keys) {
  const double query = 1;
  return oracle_m3_blocks(params, &query, {keys.data(), 1}, static_cast<int64_t>(keys.size()) - 1);
}

void expect_blocks(const M3Params& params, const std::vector<double>& keys,
                   const Blocks& expected) {
  EXPECT_EQ(executor_blocks(params, keys), expected);
  EXPECT_EQ(oracle_blocks(params, keys), expected);
}

TEST(M3, DefaultsAreThoseOfTheModel) {
  const M3Params params;
  EXPECT_EQ(params.block_tokens, 128);
  EXPECT_EQ(params.top_k, 16);
  EXPECT_EQ(params.init_blocks, 0);
  EXPECT_EQ(params.local_blocks, 1);
  EXPECT_EQ(params.index_head_size, 128);
}

TEST(M3, FewerLiveBlocksThanTopKSelectsAllAndPads) {
  expect_blocks(params_of(2, 5, 0, 1), {3, 0, 9, 1, 2}, {2, 1, 0, -1, -1});
}

TEST(M3, ScoreOfABlockIsItsBestKey) {
  expect_blocks(params_of(2, 2, 0, 0), {1, 8, 5, 5, 9, -9}, {2, 0});
}

TEST(M3, EqualScoresTakeTheHigherBlock) {
  expect_blocks(params_of(1, 3, 0, 0), {7, 7, 7, 7, 7}, {4, 3, 2});
  expect_blocks(params_of(1, 2, 0, 0), {7, 1, 7, 1, 9}, {4, 2});
}

TEST(M3, LocalBlocksAreTheLastLiveOnes) {
  expect_blocks(params_of(1, 3, 0, 2), {9, 8, 7, 1, 2}, {4, 3, 0});
  expect_blocks(params_of(2, 2, 0, 1), {9, 9, 8, 8, -5}, {2, 0});  // the row's own, one key long
}

TEST(M3, InitBlocksComeBeforeLocalOnes) {
  expect_blocks(params_of(1, 3, 1, 1), {-9, 8, 9, 7, -8}, {0, 4, 2});
  expect_blocks(params_of(1, 1, 1, 1), {-9, 8, 9, 7, -8}, {0});
}

TEST(M3, ABlockBothInitAndLocalCountsOnce) {
  expect_blocks(params_of(1, 3, 2, 2), {5, 6}, {1, 0, -1});
}

TEST(M3, NaNRanksBehindEveryNumber) {
  expect_blocks(params_of(1, 3, 0, 0), {kNaN, 1, -kInfinity, 2, kNaN}, {3, 1, 2});
  expect_blocks(params_of(1, 5, 0, 0), {kNaN, 1, -kInfinity, 2, kNaN}, {3, 1, 2, 4, 0});
  expect_blocks(params_of(2, 1, 0, 0), {9, kNaN, kNaN, 9, 1, 1}, {2});  // wherever it stands
  expect_blocks(params_of(1, 2, 0, 1), {3, 4, kNaN}, {2, 1});           // local all the same
}

TEST(M3, KeysBehindTheRowDoNotCount) {
  const M3Params params = params_of(4, 1, 0, 0);
  const std::vector<double> keys{1, 1, 1, 1, 0, 0, 9, 9};
  const double query = 1;
  for (const auto& [position, block] : {std::pair<int64_t, int32_t>{5, 0}, {6, 1}}) {
    const std::vector<IndexQuery> rows{{&query, position}};
    EXPECT_EQ(m3_select(params, m3_block_scores(params, rows, {keys.data(), 1})[0])[0], block);
    EXPECT_EQ(oracle_m3_blocks(params, &query, {keys.data(), 1}, position)[0], block);
  }
}

TEST(M3, ExecutorAndOracleAgreeOnRandomScoresWithTies) {
  std::mt19937 random(20);
  for (int round = 0; round < 2000; ++round) {
    const M3Params params =
        params_of(1 + random() % 5, 1 + random() % 8, random() % 3, random() % 3);
    std::vector<double> keys(1 + random() % 60);
    for (double& key : keys) {
      key = random() % 17 == 0 ? kNaN : static_cast<double>(random() % 6);
    }
    const Blocks selected = executor_blocks(params, keys);
    ASSERT_EQ(selected, oracle_blocks(params, keys)) << "round " << round;
    const int64_t live =
        (static_cast<int64_t>(keys.size()) + params.block_tokens - 1) / params.block_tokens;
    const int64_t taken =
        std::count_if(selected.begin(), selected.end(), [](int32_t block) { return block >= 0; });
    EXPECT_EQ(taken, std::min<int64_t>(live, params.top_k));
  }
}

TEST(M3, RangesOfBlocksEndAtWhatIsVisible) {
  const M3Params params = params_of(4, 3, 0, 1);
  const auto ranges = blocks_to_ranges(params, Blocks{2, 0, -1}, {1, 10});
  EXPECT_EQ(ranges, (std::vector<KeyRange>{{8, 10}, {1, 4}}));
  EXPECT_EQ(oracle_m3_keys(params, Blocks{2, 0, -1}, std::vector<int64_t>{1, 2, 3, 4, 7, 8, 9}),
            (std::vector<int64_t>{1, 2, 3, 8, 9}));
}

}  // namespace
}  // namespace attnplan::cpu
