// convert.h for AMD.
#pragma once

namespace attnplan::hip {

using NativeHalf2 = _Float16 __attribute__((ext_vector_type(2)));
using NativeFloat2 = float __attribute__((ext_vector_type(2)));

// Round to nearest even; NaN stays NaN on gfx950, elsewhere its payload must not be all ones.
ATTNPLAN_DEVICE uint32_t pack_bf16(float low, float high) {
#if ATTNPLAN_HIP_HAS_BF16_CONVERSION
  using Bf16Pair = __bf16 __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(NativeFloat2{low, high}, Bf16Pair));
#else
  const uint32_t l = __builtin_bit_cast(uint32_t, low), h = __builtin_bit_cast(uint32_t, high);
  const uint32_t rounded_low = l + 0x7fffu + ((l >> 16) & 1u);
  const uint32_t rounded_high = h + 0x7fffu + ((h >> 16) & 1u);
  return select_bytes(rounded_low, rounded_high, 0x7632);
#endif
}
ATTNPLAN_DEVICE uint32_t pack_fp16(float low, float high) {
  return __builtin_bit_cast(uint32_t,
                            NativeHalf2{static_cast<_Float16>(low), static_cast<_Float16>(high)});
}
ATTNPLAN_DEVICE float fp16_low(uint32_t pair) {
  return static_cast<float>(__builtin_bit_cast(NativeHalf2, pair).x);
}
ATTNPLAN_DEVICE float fp16_high(uint32_t pair) {
  return static_cast<float>(__builtin_bit_cast(NativeHalf2, pair).y);
}
ATTNPLAN_DEVICE uint32_t multiply_fp16(uint32_t a, uint32_t b) {
  return __builtin_bit_cast(
      uint32_t, __builtin_bit_cast(NativeHalf2, a) * __builtin_bit_cast(NativeHalf2, b));
}
#if ATTNPLAN_HIP_HAS_FP8_CONVERSION
// In the fp8 flavour of the architecture.
ATTNPLAN_DEVICE uint32_t convert_native_fp8_pair(uint32_t bytes, int half) {
  const NativeFloat2 v = half == 0 ? __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(bytes), false)
                                   : __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(bytes), true);
  return __builtin_bit_cast(uint32_t, __builtin_amdgcn_cvt_pkrtz(v.x, v.y));  // exact
}
#else
ATTNPLAN_DEVICE uint32_t convert_native_fp8_pair(uint32_t bytes, int) { return bytes; }  // never
#endif
ATTNPLAN_DEVICE uint32_t convert_e4m3fn_pair(uint32_t bytes, int half) {
  return convert_native_fp8_pair(bytes, half);
}
ATTNPLAN_DEVICE uint32_t convert_e4m3fnuz_pair(uint32_t bytes, int half) {
  return convert_native_fp8_pair(bytes, half);
}
// The instructions do not clamp on their own; NaN passes.
ATTNPLAN_DEVICE float clamp_to(float value, float limit) {
  return value > limit ? limit : value < -limit ? -limit : value;
}
#if ATTNPLAN_HIP_HAS_FP8_CONVERSION
ATTNPLAN_DEVICE uint32_t pack_native_e4m3(float low, float high, float limit) {
  return static_cast<uint32_t>(__builtin_amdgcn_cvt_pk_fp8_f32(clamp_to(low, limit),
                                                               clamp_to(high, limit), 0, false)) &
         0xffffu;
}
ATTNPLAN_DEVICE uint32_t pack_native_e5m2(float low, float high, float limit) {
  return static_cast<uint32_t>(__builtin_amdgcn_cvt_pk_bf8_f32(clamp_to(low, limit),
                                                               clamp_to(high, limit), 0, false)) &
         0xffffu;
}
#else
ATTNPLAN_DEVICE uint32_t pack_native_e4m3(float, float, float) { return 0; }             // never
ATTNPLAN_DEVICE uint32_t pack_native_e5m2(float, float, float) { return 0; }             // never
#endif
ATTNPLAN_DEVICE uint32_t pack_e4m3fn(float low, float high) {
  return pack_native_e4m3(low, high, 448.0f);
}
ATTNPLAN_DEVICE uint32_t pack_e4m3fnuz(float low, float high) {
  return pack_native_e4m3(low, high, 240.0f);
}
ATTNPLAN_DEVICE uint32_t pack_e5m2(float low, float high) {
  return pack_native_e5m2(low, high, 57344.0f);
}

}  // namespace attnplan::hip
