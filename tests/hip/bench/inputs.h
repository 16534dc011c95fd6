// Inputs of the bench as functions of their place, so that the host knows what the device holds
// without copying gigabytes.
#pragma once

#include <cstdint>

namespace attnplan::hip::bench {

// Of what a 32-bit word of memory holds.
enum class Fill : int32_t {
  kBf16 = 0,  // two values, uniform in [-1, 1)
  kFp8 = 1    // four e4m3fn values below 2 in magnitude
};

constexpr uint32_t mixed(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// Word `index` of the tensor with this seed.
constexpr uint32_t word_at(uint64_t index, uint32_t seed, Fill fill) {
  const uint32_t random =
      mixed(static_cast<uint32_t>(index) * 2654435761u + seed + static_cast<uint32_t>(index >> 32));
  if (fill == Fill::kFp8) return random & 0xbfbfbfbfu;
  // 8 random bits: k / 128 with k in [-128, 128), exact in bf16, as its bits.
  uint32_t word = 0;
  for (int half = 0; half < 2; ++half) {
    const int k = static_cast<int>(random >> (16 * half) & 0xffu) - 128;
    word |= (__builtin_bit_cast(uint32_t, static_cast<float>(k) / 128.0f) >> 16) << (16 * half);
  }
  return word;
}

struct FillArgs {
  uint32_t* words;
  int64_t count;
  uint32_t seed;
  Fill fill;
};
struct FlushArgs {
  const uint32_t* words;  // more than any cache holds
  int64_t count;
  uint32_t* sink;
};

constexpr int kThreads = 256;

}  // namespace attnplan::hip::bench
