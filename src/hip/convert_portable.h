// convert.h in plain C++, by the definitions of the formats.
#pragma once

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
  int exponent = 0;
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

}  // namespace attnplan::hip
