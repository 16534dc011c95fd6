// mma.h for AMD: MFMA builtins.
#pragma once

namespace attnplan::hip {

using MfmaFloat4 = float __attribute__((ext_vector_type(4)));
template <class T>
using MfmaHalf4 = T __attribute__((ext_vector_type(4)));
template <class T>
using MfmaHalf8 = T __attribute__((ext_vector_type(8)));

template <class V>
ATTNPLAN_DEVICE V mfma_operand(const uint32_t* words) {
  if constexpr (sizeof(V) == 8) {
    return __builtin_bit_cast(V, NativeWords2{words[0], words[1]});
  } else {
    return __builtin_bit_cast(V, NativeWords4{words[0], words[1], words[2], words[3]});
  }
}
ATTNPLAN_DEVICE void mfma_store(MfmaFloat4 v, float* d) {
  d[0] = v.x;
  d[1] = v.y;
  d[2] = v.z;
  d[3] = v.w;
}

template <class E>
ATTNPLAN_DEVICE void Mfma16x16x16<E>::mma(const uint32_t* a, const uint32_t* b, float* d) {
  const MfmaFloat4 c = {d[0], d[1], d[2], d[3]};
  if constexpr (E::kBf16) {
    using V = MfmaHalf4<short>;
    mfma_store(__builtin_amdgcn_mfma_f32_16x16x16bf16_1k(mfma_operand<V>(a), mfma_operand<V>(b), c,
                                                         0, 0, 0),
               d);
  } else {
    using V = MfmaHalf4<_Float16>;
    mfma_store(
        __builtin_amdgcn_mfma_f32_16x16x16f16(mfma_operand<V>(a), mfma_operand<V>(b), c, 0, 0, 0),
        d);
  }
}

template <class E>
ATTNPLAN_DEVICE void Mfma16x16x32<E>::mma([[maybe_unused]] const uint32_t* a,
                                          [[maybe_unused]] const uint32_t* b,
                                          [[maybe_unused]] float* d) {
#if ATTNPLAN_HIP_HAS_MFMA_K32
  const MfmaFloat4 c = {d[0], d[1], d[2], d[3]};
  if constexpr (E::kBf16) {
    using V = MfmaHalf8<__bf16>;
    mfma_store(
        __builtin_amdgcn_mfma_f32_16x16x32_bf16(mfma_operand<V>(a), mfma_operand<V>(b), c, 0, 0, 0),
        d);
  } else {
    using V = MfmaHalf8<_Float16>;
    mfma_store(
        __builtin_amdgcn_mfma_f32_16x16x32_f16(mfma_operand<V>(a), mfma_operand<V>(b), c, 0, 0, 0),
        d);
  }
#endif
}

}  // namespace attnplan::hip
