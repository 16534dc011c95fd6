// The instruction sets that this processor runs, and the dice of the tests that compare them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "planner/isa.h"

namespace attnplan {

inline std::vector<const Isa*> targets() {
  std::vector<const Isa*> list = {&kIsaBaseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) list.push_back(&kIsaAvx2);
  if (&best_isa() == &kIsaAvx512) list.push_back(&kIsaAvx512);
#endif
  return list;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int32_t between(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(engine_);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  int32_t pick(std::initializer_list<int32_t> values) {
    return values.begin()[between(0, static_cast<int32_t>(values.size()) - 1)];
  }
  template <size_t kCount>
  int32_t one_of(const int32_t (&values)[kCount]) {
    return values[between(0, static_cast<int32_t>(kCount) - 1)];
  }

 private:
  std::mt19937 engine_;
};

}  // namespace attnplan
