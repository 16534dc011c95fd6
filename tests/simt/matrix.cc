#include "simt/matrix.h"

#include <cmath>
#include <limits>
#include <vector>

namespace attnplan::simt {
namespace {

// IEEE-like: sign, `exponent_bits`, the rest mantissa; the last exponent is for infinity and NaN.
float decode_float16(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int last = (1 << exponent_bits) - 1;
  const int exponent = bits >> mantissa_bits & last;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double value;
  if (exponent == last) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

std::vector<float> table(int exponent_bits, bool flush_subnormals) {
  std::vector<float> values(0x10000);
  for (size_t bits = 0; bits < values.size(); ++bits) {
    const bool zero_exponent = (bits & 0x7fff) >> (15 - exponent_bits) == 0;
    const size_t kept = flush_subnormals && zero_exponent ? bits & 0x8000 : bits;
    values[bits] = decode_float16(static_cast<uint16_t>(kept), exponent_bits);
  }
  return values;
}

}  // namespace

float decode(uint16_t bits, bool bf16, bool flush_subnormals) {
  static const std::vector<float> tables[2][2] = {{table(5, false), table(5, true)},
                                                  {table(8, false), table(8, true)}};
  return tables[bf16][flush_subnormals][bits];
}

float maybe_flushed(float value, bool flush_subnormals) {
  return flush_subnormals && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                                    : value;
}

}  // namespace attnplan::simt
