// What a matrix instruction computes: the formats' numbers, drawn orders of summation, and gfx90a's
// subnormal numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "hip/mma.h"
#include "hip/registers.h"
#include "property/dice.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

constexpr uint16_t kOne[2] = {0x3c00, 0x3f80};  // fp16, bf16

// The instruction with `a` and `b` in one k slot of every row and column, zeros elsewhere, and
// `addend`: every lane's sums are addend + a * b.
template <class Arch, class E>
float multiply_add(uint16_t a, uint16_t b, float addend, uint64_t seed = 1) {
  using I =
      std::conditional_t<Arch::kMatrix == Matrix::kMmaSync, MmaSync16x8x16<E>, Mfma16x16x16<E>>;
  float result = 0;
  simt::launch(simt::options_for<Arch>(seed), 1, Arch::kWave, [&] {
    const int lane = lane_index<Arch>();
    uint32_t a_words[I::kAWords] = {};
    uint32_t b_words[I::kBWords] = {};
    for (int e = 0; e < 2 * I::kAWords; ++e) {
      if (I::a(lane, e).column == 5) a_words[e / 2] |= uint32_t{a} << (16 * (e % 2));
    }
    for (int e = 0; e < 2 * I::kBWords; ++e) {
      if (I::b(lane, e).row == 5) b_words[e / 2] |= uint32_t{b} << (16 * (e % 2));
    }
    Registers<float, 4> sums;
    sums.fill(addend);
    I::mma(a_words, b_words, sums.values);
    for (int e = 1; e < 4; ++e) EXPECT_EQ(bits_of(sums[e]), bits_of(sums[0]));
    if (lane == 0) result = sums[0];
  });
  return result;
}

TEST(MatrixNumbers, AreThoseOfTheFormats) {
  const auto bf16 = [](uint16_t bits) { return multiply_add<Gfx942, Bf16>(bits, kOne[1], 0); };
  const auto fp16 = [](uint16_t bits) { return multiply_add<Sm90, Fp16>(bits, kOne[0], 0); };
  EXPECT_EQ(bf16(0x3f80), 1.0f);
  EXPECT_EQ(bf16(0xc049), -3.140625f);
  EXPECT_EQ(bf16(0x7f7f), std::ldexp(255.0f, 120));
  EXPECT_EQ(bf16(0x0001), std::ldexp(1.0f, -133));
  EXPECT_EQ(fp16(0x3c00), 1.0f);
  EXPECT_EQ(fp16(0xc248), -3.140625f);
  EXPECT_EQ(fp16(0x7bff), 65504.0f);
  EXPECT_EQ(fp16(0x0400), std::ldexp(1.0f, -14));
  EXPECT_EQ(fp16(0x03ff), std::ldexp(1023.0f, -24));
  EXPECT_EQ(fp16(0x8001), -std::ldexp(1.0f, -24));
}

TEST(MatrixNumbers, InfinitiesAndNaNsArePassedOn) {
  EXPECT_EQ((multiply_add<Gfx942, Bf16>(0xff80, kOne[1], 0)), -INFINITY);
  EXPECT_TRUE(std::isnan((multiply_add<Gfx942, Bf16>(0x7f80, 0, 0))));
  EXPECT_TRUE(std::isnan((multiply_add<Gfx942, Bf16>(0xffff, kOne[1], 0))));
  EXPECT_TRUE(std::isnan((multiply_add<Gfx942, Fp16>(0xffff, kOne[0], 0))));
  EXPECT_EQ((multiply_add<Gfx942, Fp16>(kOne[0], kOne[0], INFINITY)), INFINITY);
}

TEST(MatrixNumbers, OnlyGfx90aFlushesSubnormals) {
  const uint16_t half_subnormal = 0x03ff;
  EXPECT_EQ((multiply_add<Gfx90a, Fp16>(half_subnormal, kOne[0], 0)), 0);
  EXPECT_EQ((multiply_add<Gfx90a, Fp16>(kOne[0], half_subnormal, 0)), 0);
  EXPECT_EQ((multiply_add<Gfx90a, Fp16>(0x0400, kOne[0], 0)), std::ldexp(1.0f, -14));
  EXPECT_EQ((multiply_add<Gfx90a, Bf16>(0x007f, kOne[1], 0)), 0);
  EXPECT_NE((multiply_add<Gfx942, Fp16>(half_subnormal, kOne[0], 0)), 0);
  EXPECT_NE((multiply_add<Gfx942, Bf16>(0x007f, kOne[1], 0)), 0);
  EXPECT_NE((multiply_add<Sm90, Bf16>(0x007f, kOne[1], 0)), 0);
  // A product of normal numbers, and an addend, that are subnormal in float32.
  const uint16_t small = 0x1f80;  // 2^-64
  EXPECT_EQ((multiply_add<Gfx90a, Bf16>(small, small, 0)), 0);
  EXPECT_EQ((multiply_add<Gfx942, Bf16>(small, small, 0)), std::ldexp(1.0f, -128));
  EXPECT_EQ((multiply_add<Gfx90a, Bf16>(0, 0, std::ldexp(1.0f, -128))), 0);
}

// The same random operands for every seed of the launch.
template <class I, class Arch>
std::vector<float> sums_of(uint64_t seed) {
  std::vector<float> results(Arch::kWave * 4);
  simt::launch(simt::options_for<Arch>(seed), 1, Arch::kWave, [&] {
    property::Dice dice(static_cast<uint64_t>(thread_index()));
    const auto random_pair = [&dice] {  // bf16 of either sign, 0.5 to 2
      return (static_cast<uint32_t>(dice.next()) & 0x80ff80ffu) | 0x3f003f00u;
    };
    Registers<uint32_t, I::kAWords> a;
    Registers<uint32_t, I::kBWords> b;
    for (int i = 0; i < I::kAWords; ++i) a[i] = random_pair();
    for (int i = 0; i < I::kBWords; ++i) b[i] = random_pair();
    Registers<float, 4> sums;
    for (int e = 0; e < 4; ++e) sums[e] = static_cast<float>(dice.in(1, 1000)) * 0.001f;
    I::mma(a.values, b.values, sums.values);
    for (int e = 0; e < 4; ++e) results[static_cast<size_t>(thread_index()) * 4 + e] = sums[e];
  });
  return results;
}

template <class I, class Arch>
void expect_several_orders() {
  std::set<std::vector<float>> results;
  const std::vector<float> first = sums_of<I, Arch>(0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> sums = sums_of<I, Arch>(seed);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], first[i], 2e-5);
    results.insert(sums);
    ASSERT_EQ(sums, (sums_of<I, Arch>(seed)));
  }
  EXPECT_GT(results.size(), 5u);
}

TEST(MatrixSums, ComeInAnOrderDrawnFromTheSeed) {
  expect_several_orders<Mfma16x16x16<Bf16>, Gfx942>();
  expect_several_orders<Mfma16x16x32<Bf16>, Gfx950>();
  expect_several_orders<MmaSync16x8x16<Bf16>, Sm90>();
}

}  // namespace
}  // namespace attnplan::hip
