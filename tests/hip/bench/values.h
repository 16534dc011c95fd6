// Values of the bench's inputs, by the definitions of their formats.
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/inputs.h"

namespace attnplan::hip::bench {

inline float bf16(uint32_t bits) { return __builtin_bit_cast(float, bits << 16); }

// By the definition of e4m3fn; the bench makes no NaN.
inline float e4m3fn(uint32_t byte) {
  const int exponent = static_cast<int>(byte >> 3 & 15u);
  const auto fraction = static_cast<float>(byte & 7u);
  const float magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8.0f + fraction, exponent - 10);
  return (byte & 0x80u) != 0 ? -magnitude : magnitude;
}

// Element `index` of a tensor that the device filled.
inline double element(uint64_t index, uint32_t seed, Fill fill) {
  if (fill == Fill::kFp8) {
    return e4m3fn(word_at(index / 4, seed, fill) >> (8 * (index % 4)) & 0xffu);
  }
  return bf16(word_at(index / 2, seed, fill) >> (16 * (index % 2)) & 0xffffu);
}

}  // namespace attnplan::hip::bench
