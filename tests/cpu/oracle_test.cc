#include "cpu/oracle.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace attnplan::cpu {
namespace {

using Keys = std::vector<int64_t>;

AttentionShape shape_of(int32_t head_size, int32_t v_head_size) {
  AttentionShape shape;
  shape.num_q_heads = 1;
  shape.num_kv_heads = 1;
  shape.head_size = head_size;
  shape.v_head_size = v_head_size;
  return shape;
}

TEST(Oracle, SoftmaxOfTwoKeysByHand) {
  // Scores 0 and 2 * ln 3 / sqrt(4) = ln 3: weights 1/4 and 3/4, their sum before division 4.
  const std::array<double, 4> q{2, 0, 0, 0};
  const std::array<double, 8> k{0, 5, 5, 5, std::log(3.0), 7, 7, 7};
  const std::array<double, 2> v{4, 8};
  std::array<double, 1> out{};
  const double lse =
      oracle_attend(shape_of(4, 1), q.data(), {k.data(), 4}, {v.data(), 1}, Keys{0, 1}, out);
  EXPECT_NEAR(out[0], 7.0, 1e-14);
  EXPECT_NEAR(lse, std::log(4.0), 1e-14);
}

TEST(Oracle, ThreeKeysOfWhichOneIsNotListed) {
  // Scores ln 1, ln 2, ln 5 of which the second is left out: weights 1/6 and 5/6.
  const std::array<double, 1> q{1};
  const std::array<double, 3> k{0, std::log(2.0), std::log(5.0)};
  const std::array<double, 6> v{6, 0, 100, 100, 12, 18};
  std::array<double, 2> out{};
  const double lse =
      oracle_attend(shape_of(1, 2), q.data(), {k.data(), 1}, {v.data(), 2}, Keys{0, 2}, out);
  EXPECT_NEAR(out[0], 11.0, 1e-14);
  EXPECT_NEAR(out[1], 15.0, 1e-14);
  EXPECT_NEAR(lse, std::log(6.0), 1e-14);
}

TEST(Oracle, NoKeyGivesZerosAndMinusInfinity) {
  const std::array<double, 1> q{1};
  std::array<double, 2> out{3, 4};
  const double lse = oracle_attend(shape_of(1, 2), q.data(), {}, {}, Keys{}, out);
  EXPECT_EQ(out, (std::array<double, 2>{0, 0}));
  EXPECT_EQ(lse, -std::numeric_limits<double>::infinity());
}

TEST(Oracle, HugeScoresDoNotOverflow) {
  const std::array<double, 1> q{1000};
  const std::array<double, 2> k{1000, 1000};
  const std::array<double, 2> v{1, 3};
  std::array<double, 1> out{};
  const double lse =
      oracle_attend(shape_of(1, 1), q.data(), {k.data(), 1}, {v.data(), 1}, Keys{0, 1}, out);
  EXPECT_EQ(out[0], 2.0);
  EXPECT_NEAR(lse, 1e6 + std::log(2.0), 1e-6);
}

TEST(Oracle, SoftCapBendsScores) {
  // tanh(atanh(1/2)) = 1/2 of a cap of 2 ln 3: score ln 3 again.
  AttentionShape shape = shape_of(1, 1);
  shape.soft_cap = 2 * std::log(3.0);
  const std::array<double, 1> q{shape.soft_cap * std::atanh(0.5)};
  const std::array<double, 2> k{0, 1};
  const std::array<double, 2> v{4, 8};
  std::array<double, 1> out{};
  oracle_attend(shape, q.data(), {k.data(), 1}, {v.data(), 1}, Keys{0, 1}, out);
  EXPECT_NEAR(out[0], 7.0, 1e-13);
}

TEST(Oracle, VisibleKeys) {
  AttentionShape shape = shape_of(1, 1);
  EXPECT_EQ(oracle_visible(shape, 3, 6), (Keys{0, 1, 2, 3}));
  shape.sliding_window = 2;  // itself and one more
  EXPECT_EQ(oracle_visible(shape, 3, 6), (Keys{2, 3}));
  EXPECT_EQ(oracle_visible(shape, 0, 6), (Keys{0}));
  shape.mask = ATTNPLAN_MASK_FULL;
  EXPECT_EQ(oracle_visible(shape, 3, 6), (Keys{2, 3, 4, 5}));
  shape.sliding_window = 0;
  EXPECT_EQ(oracle_visible(shape, 3, 6), (Keys{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(oracle_visible(shape, -2, 2), (Keys{0, 1}));  // more rows than keys
}

}  // namespace
}  // namespace attnplan::cpu
