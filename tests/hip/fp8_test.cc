// Conversions to and from fp8, in the form that each architecture uses, against the definition.
#include <gtest/gtest.h>

#include "hip/convert.h"
#include "hip/fp8_definition.h"
#include "property/dice.h"

namespace attnplan::hip {
namespace {

// Every number of the format, the borders between two, and what lies right beside either.
std::vector<float> interesting_floats(const Fp8Definition& format) {
  std::vector<float> floats = {INFINITY, NAN, 3.4e38f, 1e-45f, 1e-38f};
  const auto add = [&](double number) {
    const auto near = static_cast<float>(number);
    floats.insert(floats.end(), {near, std::nextafter(near, INFINITY), std::nextafter(near, 0.0f)});
  };
  const std::vector<double>& numbers = format.numbers();
  for (size_t i = 0; i < numbers.size(); ++i) {
    add(numbers[i]);
    if (i > 0) add((numbers[i - 1] + numbers[i]) / 2);
  }
  add(format.largest() * 1.0625);
  add(format.largest() * 2);
  return floats;
}

template <class Arch, Cache kCache>
void check_float(const Fp8Definition& format, float value) {
  const uint32_t packed = pack_fp8<Arch, kCache>(value, -value);
  ASSERT_EQ(packed & 0xffu, format.encode(value)) << "of " << value;
  ASSERT_EQ(packed >> 8, format.encode(-value)) << "of " << -value;
}

template <class Arch, Cache kCache>
void check_conversions() {
  const Fp8Definition format(kCache);
  for (const float value : interesting_floats(format)) check_float<Arch, kCache>(format, value);
  property::Dice dice(1);
  for (int i = 0; i < 20000; ++i) {
    // Any bits, and numbers around the format's range.
    check_float<Arch, kCache>(format, float_of(static_cast<uint32_t>(dice.next())));
    const double exponent = static_cast<double>(dice.in(-24000, 18000)) / 1000;
    check_float<Arch, kCache>(format, static_cast<float>(std::exp2(exponent)));
  }
}

template <class Arch, Cache kCache>
void check_lifting() {
  const Fp8Definition format(kCache);
  for (uint32_t code = 0; code < 256; ++code) {
    for (int at = 0; at < 4; ++at) {
      const uint32_t pair = fp8_pair_to_fp16<Arch, kCache>(code << (8 * at), at / 2);
      const float lifted = at % 2 == 0 ? fp16_low(pair) : fp16_high(pair);
      const double number = format.decode(static_cast<uint8_t>(code));
      if (std::isnan(number)) {
        ASSERT_TRUE(std::isnan(lifted)) << "code " << code;
      } else {
        ASSERT_EQ(lifted, number) << "code " << code;
      }
    }
  }
}

template <class Arch>
class Fp8 : public testing::Test {};
using Architectures = testing::Types<Gfx90a, Gfx942, Gfx950, Sm90>;
TYPED_TEST_SUITE(Fp8, Architectures);

TYPED_TEST(Fp8, FloatsGetTheNearestCode) {
  check_conversions<TypeParam, Cache::kE4m3fn>();
  check_conversions<TypeParam, Cache::kE4m3fnuz>();
  check_conversions<TypeParam, Cache::kE5m2>();
}

TYPED_TEST(Fp8, LiftedCodesAreTheirNumbers) {
  check_lifting<TypeParam, Cache::kE4m3fn>();
  check_lifting<TypeParam, Cache::kE4m3fnuz>();
  check_lifting<TypeParam, Cache::kE5m2>();
}

}  // namespace
}  // namespace attnplan::hip
