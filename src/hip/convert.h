// Numbers of 16 and 8 bits in 32-bit registers. A pair lies in one register, the lower index in the
// lower half.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hip/arch.h"
#include "hip/mma.h"
#include "hip/wave.h"

#if defined(ATTNPLAN_HIP_EMULATED)
#include "hip/convert_portable.h"
#elif defined(ATTNPLAN_HIP_NVIDIA)
#include "hip/convert_nvidia.h"
#else
#include "hip/convert_amd.h"
#endif

namespace attnplan::hip {

constexpr float kLn2 = 0.6931471805599453f;

// Element type of a KV cache.
enum class Cache { kBf16, kFp16, kE4m3fn, kE4m3fnuz, kE5m2 };
constexpr bool is_fp8(Cache cache) { return cache != Cache::kBf16 && cache != Cache::kFp16; }

ATTNPLAN_DEVICE float bf16_low(uint32_t pair) { return float_of(pair << 16); }
ATTNPLAN_DEVICE float bf16_high(uint32_t pair) { return float_of(pair & 0xffff0000u); }

template <class E>
ATTNPLAN_DEVICE uint32_t pack(float low, float high) {
  if constexpr (E::kBf16) {
    return pack_bf16(low, high);
  } else {
    return pack_fp16(low, high);
  }
}

// bf16 to fp16 with saturation: for queries that meet an fp8 cache, whose products run in fp16.
ATTNPLAN_DEVICE uint32_t bf16_pair_to_fp16(uint32_t pair) {
  constexpr float kMax = 65504.0f;
  const auto clamp = [](float x) { return x > kMax ? kMax : x < -kMax ? -kMax : x; };
  return pack_fp16(clamp(bf16_low(pair)), clamp(bf16_high(pair)));
}

// Bytes 2 * half and 2 * half + 1 of `bytes`, fp8, as a pair of fp16. Exact, NaN stays NaN.
// By integers: the byte's bits become the top bits of an fp16 whose exponent is off by a constant,
// which a multiplication by a power of two mends, subnormals included.
template <class Arch, Cache kCache>
ATTNPLAN_DEVICE uint32_t fp8_pair_to_fp16(uint32_t bytes, int half) {
  if constexpr (kCache == Cache::kE4m3fn && Arch::kConvertsOcp) {
    return convert_e4m3fn_pair(bytes, half);
  } else if constexpr (kCache == Cache::kE4m3fnuz && Arch::kConvertsFnuz) {
    return convert_e4m3fnuz_pair(bytes, half);
  } else {
    const uint32_t x = select_bytes(bytes, 0, half == 0 ? 0x1404 : 0x3424);
    if constexpr (kCache == Cache::kE5m2) {
      return x;  // the upper half of an fp16
    } else {
      const uint32_t sign = x & 0x80008000u, magnitude = (x & 0x7f007f00u) >> 1;
      if constexpr (kCache == Cache::kE4m3fn) {  // bias 7 of 15; NaN: all ones
        const uint32_t nan = (magnitude + 0x00800080u) & 0x40004000u;
        return multiply_fp16(sign | magnitude | nan, 0x5c005c00u);  // 2^8
      } else {  // bias 8 of 15; NaN: what would be -0
        const uint32_t nan = sign & ~((x & 0x7f007f00u) + 0x7f007f00u);
        return multiply_fp16(sign | magnitude | (nan - (nan >> 6)), 0x58005800u);  // 2^7
      }
    }
  }
}

// fp8 formats by their numbers. Codes below 0x80 ascend with their values.
template <Cache kCache>
struct Fp8Format {
  static constexpr bool kFnuz = kCache == Cache::kE4m3fnuz;
  static constexpr int kMantissa = kCache == Cache::kE5m2 ? 2 : 3;  // bits
  static constexpr int kBias = kCache == Cache::kE5m2 ? 15 : kFnuz ? 8 : 7;
  static constexpr float kMax = kCache == Cache::kE5m2 ? 57344.0f : kFnuz ? 240.0f : 448.0f;
  static constexpr uint32_t kNan = kFnuz ? 0x80 : 0x7f;
};

// Round to nearest even, beyond the largest number: the largest, NaN: kNan. By integers.
template <Cache kCache>
ATTNPLAN_DEVICE uint32_t round_to_fp8(float value) {
  using Format = Fp8Format<kCache>;
  constexpr int kDropped = 23 - Format::kMantissa;
  constexpr uint32_t kLeastNormal = static_cast<uint32_t>(128 - Format::kBias) << 23;
  // What is added to a smaller number so that the unit of its last place is that of the format.
  constexpr uint32_t kSubnormalBase = kLeastNormal + (static_cast<uint32_t>(kDropped) << 23);
  uint32_t magnitude = bits_of(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return Format::kNan;
  if (magnitude > bits_of(Format::kMax)) magnitude = bits_of(Format::kMax);
  uint32_t code;
  if (magnitude >= kLeastNormal) {
    const uint32_t even = (magnitude >> kDropped) & 1u;
    code = (magnitude + ((1u << (kDropped - 1)) - 1u) + even) >> kDropped;
    code -= static_cast<uint32_t>(127 - Format::kBias) << Format::kMantissa;
  } else {
    code = bits_of(float_of(magnitude) + float_of(kSubnormalBase)) - kSubnormalBase;
  }
  const uint32_t sign = (bits_of(value) >> 24) & 0x80u;
  return Format::kFnuz && code == 0 ? 0 : sign | code;
}

// Two numbers to two bytes, `low` in the lowest.
template <class Arch, Cache kCache>
ATTNPLAN_DEVICE uint32_t pack_fp8(float low, float high) {
  if constexpr (kCache == Cache::kE4m3fn && Arch::kConvertsOcp) {
    return pack_e4m3fn(low, high);
  } else if constexpr (kCache == Cache::kE4m3fnuz && Arch::kConvertsFnuz) {
    return pack_e4m3fnuz(low, high);
  } else if constexpr (kCache == Cache::kE5m2 && Arch::kConvertsOcp) {
    return pack_e5m2(low, high);
  } else {
    return round_to_fp8<kCache>(low) | round_to_fp8<kCache>(high) << 8;
  }
}

}  // namespace attnplan::hip
