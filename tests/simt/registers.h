// registers.h in the emulation: registers that nobody has written hold NaN, in every format, or an
// absurd index.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>

#include "simt/machine.h"

namespace attnplan::hip {

template <class T, int N>
class Registers {
 public:
  Registers() {
    constexpr int kPoison = std::is_integral_v<T> && std::is_signed_v<T> ? 0x80 : 0xff;
    std::memset(values, kPoison, sizeof(values));
  }
  T& operator[](int index) {
    check(index);
    return values[index];
  }
  const T& operator[](int index) const {
    check(index);
    return values[index];
  }

  void fill(T value) {
    for (T& each : values) each = value;
  }

  T values[N];

 private:
  static void check(int index) {
    if (index < 0 || index >= N) {
      simt::fail("register " + std::to_string(index) + " of " + std::to_string(N));
    }
  }
};

}  // namespace attnplan::hip
