// What attention writes, in the rows' order of whoever owns it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cpu/shape.h"

namespace attnplan::cpu {

class Output {
 public:
  // Poisoned: a row that nobody writes never compares equal to anything.
  Output(int64_t rows, const AttentionShape& shape)
      : heads_(shape.num_q_heads),
        size_(shape.v_head_size),
        values_(static_cast<size_t>(rows * heads_ * size_), kPoison),
        lse_(static_cast<size_t>(rows * heads_), kPoison) {}

  std::span<double> head(int64_t row, int32_t head) {
    return {values_.data() + (row * heads_ + head) * size_, static_cast<size_t>(size_)};
  }
  double& lse(int64_t row, int32_t head) { return lse_[row * heads_ + head]; }
  std::span<const double> row(int64_t row) const {
    return {values_.data() + row * heads_ * size_, static_cast<size_t>(heads_ * size_)};
  }
  std::span<const double> row_lse(int64_t row) const {
    return {lse_.data() + row * heads_, static_cast<size_t>(heads_)};
  }

  // Of a pad, and of a row behind a clamp: zeros, and minus infinity for the log-sum-exp.
  void clear(int64_t row) {
    for (int32_t h = 0; h < heads_; ++h) {
      for (double& value : head(row, h)) value = 0;
      lse(row, h) = -std::numeric_limits<double>::infinity();
    }
  }

 private:
  static constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();
  int64_t heads_;
  int64_t size_;
  std::vector<double> values_;
  std::vector<double> lse_;
};

}  // namespace attnplan::cpu
