// Attention of one query vector in tiles of keys, the way kernels do it: running maximum, running
// sum, rescaled accumulator; float64 throughout.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cpu/shape.h"

namespace attnplan::cpu {

class OnlineSoftmax {
 public:
  OnlineSoftmax(const AttentionShape& shape, const double* query);

  // Adds the keys of `range`; k and v hold the vector of key `first` in their row 0.
  void add(KeyRange range, int64_t first, RowsView k, RowsView v);
  // Writes the output and returns the log-sum-exp; zeros and minus infinity where no key was added.
  double finish(std::span<double> out) const;

 private:
  void rescale(double maximum);

  const AttentionShape& shape_;
  const double* query_;
  double scale_;
  double maximum_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0;
  std::vector<double> accumulator_;
};

}  // namespace attnplan::cpu
