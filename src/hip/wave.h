// What the lanes of a block can do together, and how they reach memory. A block is one-dimensional;
// lane l of wave w is thread w * kWave + l.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hip/arch.h"
#include "hip/platform.h"

namespace attnplan::hip {

// N 32-bit registers that are loaded and stored together.
template <int N>
struct alignas(N == 4   ? 16
               : N == 2 ? 8
                        : 4) Words {
  uint32_t w[N];
};

}  // namespace attnplan::hip

#if defined(ATTNPLAN_HIP_EMULATED)
#include "simt/wave.h"
#elif defined(ATTNPLAN_HIP_NVIDIA)
#include "hip/wave_nvidia.h"
#else
#include "hip/wave_amd.h"
#endif

namespace attnplan::hip {

template <class Arch>
ATTNPLAN_DEVICE int lane_index() {
  return thread_index() % Arch::kWave;
}
// Uniform, and known to be.
template <class Arch>
ATTNPLAN_DEVICE int wave_index() {
  return uniform<Arch>(thread_index() / Arch::kWave);
}

ATTNPLAN_DEVICE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
ATTNPLAN_DEVICE uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }

// The lane again, so that what depends on it is computed here and not held in registers until here.
template <class Arch>
ATTNPLAN_DEVICE int lane_here() {
  return static_cast<int>(static_cast<uint32_t>(computed_here(thread_index())) % Arch::kWave);
}

template <class Arch>
ATTNPLAN_DEVICE float shuffle_xor(float value, int mask ATTNPLAN_CALLER) {
  return float_of(shuffle_xor<Arch>(bits_of(value), mask ATTNPLAN_PASS_CALLER));
}

}  // namespace attnplan::hip
