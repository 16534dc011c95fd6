// An array in a lane's registers. Natively nothing but an array; in the emulation it starts as NaN
// and checks its bounds. All indices have to be known when loops are unrolled.
#pragma once

#include "hip/platform.h"

#if defined(ATTNPLAN_HIP_EMULATED)
#include "simt/registers.h"
#else
namespace attnplan::hip {

template <class T, int N>
class Registers {
 public:
  ATTNPLAN_DEVICE Registers() {}  // `= {}` sets no zeros, as in the emulation
  ATTNPLAN_DEVICE T& operator[](int index) { return values[index]; }
  ATTNPLAN_DEVICE const T& operator[](int index) const { return values[index]; }
  ATTNPLAN_DEVICE void fill(T value) {
    ATTNPLAN_UNROLL for (int i = 0; i < N; ++i) values[i] = value;
  }

  T values[N];
};

}  // namespace attnplan::hip
#endif
