// The fp8 formats by their definition: every code's number, and the code of the nearest number.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "hip/convert.h"

namespace attnplan::hip {

class Fp8Definition {
 public:
  explicit Fp8Definition(Cache cache) : cache_(cache) {
    const int mantissa_bits = cache == Cache::kE5m2 ? 2 : 3;
    const int bias = cache == Cache::kE5m2 ? 15 : cache == Cache::kE4m3fnuz ? 8 : 7;
    const int codes = cache == Cache::kE5m2 ? 0x7c : cache == Cache::kE4m3fnuz ? 0x80 : 0x7f;
    for (int code = 0; code < codes; ++code) {  // finite and not negative
      const int exponent = code >> mantissa_bits;
      const int steps = code % (1 << mantissa_bits) + (exponent > 0 ? 1 << mantissa_bits : 0);
      const int unit = (exponent > 0 ? exponent : 1) - bias - mantissa_bits;
      numbers_.push_back(std::ldexp(static_cast<double>(steps), unit));
    }
  }

  bool fnuz() const { return cache_ == Cache::kE4m3fnuz; }
  double largest() const { return numbers_.back(); }
  const std::vector<double>& numbers() const { return numbers_; }

  double decode(uint8_t code) const {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (fnuz() && code == 0x80) return kNan;
    const int magnitude = code & 0x7f;
    if (cache_ == Cache::kE5m2 && magnitude == 0x7c) return code >= 0x80 ? -INFINITY : INFINITY;
    if (magnitude >= static_cast<int>(numbers_.size())) return kNan;
    return code >= 0x80 ? -numbers_[magnitude] : numbers_[magnitude];
  }

  // Every code is looked at: nearest, of two the even one. What lies beyond the largest number gets
  // that. NaN has one code in each format here.
  uint8_t encode(float value) const {
    if (std::isnan(value)) return fnuz() ? 0x80 : 0x7f;
    const double magnitude = std::fmin(std::fabs(static_cast<double>(value)), largest());
    int best = 0;
    double error = INFINITY;
    for (int code = 0; code < static_cast<int>(numbers_.size()); ++code) {
      const double distance = std::fabs(magnitude - numbers_[code]);
      if (distance < error || (distance == error && code % 2 == 0)) {
        best = code;
        error = distance;
      }
    }
    if (fnuz() && best == 0) return 0;
    return static_cast<uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
  }

 private:
  Cache cache_;
  std::vector<double> numbers_;
};

}  // namespace attnplan::hip
