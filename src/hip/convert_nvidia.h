// convert.h for NVIDIA.
#pragma once

namespace attnplan::hip {

ATTNPLAN_DEVICE uint32_t pack_bf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
ATTNPLAN_DEVICE uint32_t pack_fp16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
ATTNPLAN_DEVICE float fp16_low(uint32_t pair) {
  float value;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(value) : "r"(pair));
  return value;
}
ATTNPLAN_DEVICE float fp16_high(uint32_t pair) { return fp16_low(pair >> 16); }
ATTNPLAN_DEVICE uint32_t multiply_fp16(uint32_t a, uint32_t b) {
  uint32_t product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}
ATTNPLAN_DEVICE uint32_t convert_e4m3fn_pair(uint32_t bytes, int half) {
  const auto two = static_cast<uint16_t>(half == 0 ? bytes : bytes >> 16);
  uint32_t pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(two));
  return pair;
}
ATTNPLAN_DEVICE uint32_t convert_e4m3fnuz_pair(uint32_t bytes, int) { return bytes; }  // never
// The instruction wants the upper number first.
ATTNPLAN_DEVICE uint32_t pack_e4m3fn(float low, float high) {
  uint16_t two;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(high), "f"(low));
  return two;
}
ATTNPLAN_DEVICE uint32_t pack_e5m2(float low, float high) {
  uint16_t two;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(high), "f"(low));
  return two;
}
ATTNPLAN_DEVICE uint32_t pack_e4m3fnuz(float, float) { return 0; }  // never

}  // namespace attnplan::hip
