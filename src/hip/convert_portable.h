// convert.h in plain C++, by the definitions of the formats.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnplan::hip {

inline uint32_t round_to_bf16(float value) {
  if (std::isnan(value)) return 0x7fc0u;
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
inline uint32_t round_to_fp16(float value) {
  const uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  if (std::isnan(value)) return sign | 0x7e00u;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520.0) return sign | 0x7c00u;
  int exponent = -13;  // zero lies among the subnormals
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  exponent = exponent - 1 < -14 ? -14 : exponent - 1;
  // In units of the last place, ties to even.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | ((static_cast<uint32_t>(exponent + 14) << 10) + units);
}
inline float fp16_value(uint32_t bits) {
  const int exponent = static_cast<int>((bits >> 10) & 0x1fu);
  const auto fraction = static_cast<float>(bits & 0x3ffu);
  float magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0f + fraction, exponent - 25);
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  }
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

inline uint32_t pack_bf16(float low, float high) {
  return round_to_bf16(low) | round_to_bf16(high) << 16;
}
inline uint32_t pack_fp16(float low, float high) {
  return round_to_fp16(low) | round_to_fp16(high) << 16;
}
inline float fp16_low(uint32_t pair) { return fp16_value(pair & 0xffffu); }
inline float fp16_high(uint32_t pair) { return fp16_value(pair >> 16); }
inline uint32_t multiply_fp16(uint32_t a, uint32_t b) {
  return pack_fp16(fp16_low(a) * fp16_low(b), fp16_high(a) * fp16_high(b));
}
// e4m3 with the given exponent bias.
inline float e4m3_value(uint32_t byte, int bias) {
  const int exponent = static_cast<int>((byte >> 3) & 0xfu);
  const auto fraction = static_cast<float>(byte & 7u);
  const float magnitude = exponent == 0 ? std::ldexp(fraction, -2 - bias)
                                        : std::ldexp(8.0f + fraction, exponent - bias - 3);
  return (byte & 0x80u) != 0 ? -magnitude : magnitude;
}
inline uint32_t convert_e4m3fn_pair(uint32_t bytes, int half) {
  const auto value = [](uint32_t byte) {
    return (byte & 0x7fu) == 0x7fu ? std::numeric_limits<float>::quiet_NaN() : e4m3_value(byte, 7);
  };
  bytes >>= 16 * half;
  return pack_fp16(value(bytes & 0xffu), value((bytes >> 8) & 0xffu));
}
inline uint32_t convert_e4m3fnuz_pair(uint32_t bytes, int half) {
  const auto value = [](uint32_t byte) {
    return byte == 0x80u ? std::numeric_limits<float>::quiet_NaN() : e4m3_value(byte, 8);
  };
  bytes >>= 16 * half;
  return pack_fp16(value(bytes & 0xffu), value((bytes >> 8) & 0xffu));
}

// The number of the format nearest to `value`, ties to the even code: units of the last place of
// its exponent, which is that of the least normal number at least.
inline uint32_t to_fp8(float value, int mantissa_bits, int bias, double largest, uint32_t nan,
                       bool signed_zero) {
  if (std::isnan(value)) return nan;
  double magnitude = std::fabs(static_cast<double>(value));
  magnitude = magnitude > largest ? largest : magnitude;
  int exponent = 1 - bias;
  if (magnitude > 0) exponent = std::max(exponent, std::ilogb(magnitude));
  const auto units =
      static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  const uint32_t code = (static_cast<uint32_t>(exponent + bias - 1) << mantissa_bits) + units;
  return std::signbit(value) && (signed_zero || code != 0) ? 0x80u | code : code;
}
inline uint32_t pack_e4m3fn(float low, float high) {
  const auto convert = [](float x) { return to_fp8(x, 3, 7, 448.0, 0x7fu, true); };
  return convert(low) | convert(high) << 8;
}
inline uint32_t pack_e4m3fnuz(float low, float high) {
  const auto convert = [](float x) { return to_fp8(x, 3, 8, 240.0, 0x80u, false); };
  return convert(low) | convert(high) << 8;
}
inline uint32_t pack_e5m2(float low, float high) {
  const auto convert = [](float x) { return to_fp8(x, 2, 15, 57344.0, 0x7fu, true); };
  return convert(low) | convert(high) << 8;
}

}  // namespace attnplan::hip
