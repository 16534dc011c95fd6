// A small seeded source of choices. The same seed gives the same choices on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace attnplan::property {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Uniform in [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  int32_t in32(int64_t low, int64_t high) { return static_cast<int32_t>(in(low, high)); }

  bool percent(int chance) { return in(0, 99) < chance; }

  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[in(0, static_cast<int64_t>(values.size()) - 1)];
  }
  template <typename T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(in(0, static_cast<int64_t>(values.size()) - 1))];
  }

 private:
  uint64_t state_;
};

}  // namespace attnplan::property
