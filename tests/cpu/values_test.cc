#include "cpu/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace attnplan::cpu {
namespace {

std::vector<double> make(const Values& values, Tensor tensor, int64_t request, int64_t token,
                         int64_t head, int32_t size) {
  std::vector<double> out(static_cast<size_t>(size));
  values.fill(tensor, request, token, head, size, out.data());
  return out;
}

TEST(Values, AreTheSameNumbersOnEveryPlatform) {
  const auto k = make(Values(1), Tensor::kKey, 2, 3, 4, 3);
  EXPECT_EQ(k, (std::vector<double>{-0x1.f463ef9bfc418p-2, -0x1.9d775ef09819ap-1,
                                    -0x1.829cb5a39eb38p-2}));
}

TEST(Values, DoNotDependOnHowManyAreAsked) {
  const Values values(7);
  const auto few = make(values, Tensor::kValue, 5, 70000, 1, 8);
  const auto many = make(values, Tensor::kValue, 5, 70000, 1, 128);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(Values, EveryIndexMatters) {
  std::set<double> seen;
  int64_t made = 0;
  for (const uint64_t seed : {1, 2}) {
    for (const Tensor tensor : {Tensor::kKey, Tensor::kValue, Tensor::kIndexKey}) {
      for (int64_t request = 0; request < 4; ++request) {
        for (int64_t token = 0; token < 40; ++token) {
          for (int64_t head = 0; head < 3; ++head) {
            for (const double value : make(Values(seed), tensor, request, token, head, 16)) {
              seen.insert(value);
              ++made;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int64_t>(seen.size()), made);  // 46080 of 2^53: a repetition is no chance
}

TEST(Values, FillTheirRangeEvenly) {
  const Values values(3);
  for (const auto& [tensor, bound] : {std::pair{Tensor::kKey, 1.0}, {Tensor::kQuery, 4.0}}) {
    double sum = 0;
    double squares = 0;
    constexpr int kVectors = 2000;
    constexpr int kSize = 16;
    for (int token = 0; token < kVectors; ++token) {
      for (const double value : make(values, tensor, 0, token, 0, kSize)) {
        ASSERT_GE(value, -bound);
        ASSERT_LT(value, bound);
        sum += value / bound;
        squares += value * value / (bound * bound);
      }
    }
    EXPECT_NEAR(sum / (kVectors * kSize), 0.0, 0.015);
    EXPECT_NEAR(squares / (kVectors * kSize), 1.0 / 3, 0.01);
  }
}

}  // namespace
}  // namespace attnplan::cpu
