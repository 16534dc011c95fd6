#include "cpu/online_softmax.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attnplan::cpu {
namespace {

constexpr int64_t kTile = 64;  // keys

}  // namespace

OnlineSoftmax::OnlineSoftmax(const AttentionShape& shape, const double* query)
    : shape_(shape),
      query_(query),
      scale_(shape.scale()),
      accumulator_(static_cast<size_t>(shape.v_head_size), 0.0) {}

void OnlineSoftmax::rescale(double maximum) {
  // The first tile finds nothing to rescale, and inf - inf would be no number.
  const double factor = sum_ > 0 ? std::exp(maximum_ - maximum) : 0.0;
  sum_ *= factor;
  for (double& value : accumulator_) value *= factor;
  maximum_ = maximum;
}

void OnlineSoftmax::add(KeyRange range, int64_t first, RowsView k, RowsView v) {
  std::array<double, kTile> scores;
  for (int64_t begin = range.begin; begin < range.end; begin += kTile) {
    const int64_t count = std::min(kTile, range.end - begin);
    double maximum = maximum_;
    for (int64_t i = 0; i < count; ++i) {
      const double* key = k.row(begin - first + i);
      double dot = 0;
      for (int32_t e = 0; e < shape_.head_size; ++e) dot += query_[e] * key[e];
      double score = dot * scale_;
      if (shape_.soft_cap > 0) score = shape_.soft_cap * std::tanh(score / shape_.soft_cap);
      scores[i] = score;
      maximum = std::max(maximum, score);
    }
    if (maximum != maximum_) rescale(maximum);
    for (int64_t i = 0; i < count; ++i) {
      const double weight = std::exp(scores[i] - maximum_);
      const double* value = v.row(begin - first + i);
      sum_ += weight;
      for (int32_t e = 0; e < shape_.v_head_size; ++e) accumulator_[e] += weight * value[e];
    }
  }
}

double OnlineSoftmax::finish(std::span<double> out) const {
  if (sum_ == 0) {
    std::fill(out.begin(), out.end(), 0.0);
    return -std::numeric_limits<double>::infinity();
  }
  for (size_t e = 0; e < out.size(); ++e) out[e] = accumulator_[e] / sum_;
  return maximum_ + std::log(sum_);
}

}  // namespace attnplan::cpu
