#include "cpu/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnplan::cpu {

double oracle_attend(const AttentionShape& shape, const double* query, RowsView k, RowsView v,
                     std::span<const int64_t> keys, std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  if (keys.empty()) return -std::numeric_limits<double>::infinity();

  std::vector<double> weights;
  for (const int64_t key : keys) {
    double score = 0;
    for (int32_t e = 0; e < shape.head_size; ++e) score += query[e] * k.row(key)[e];
    score /= std::sqrt(static_cast<double>(shape.head_size));
    if (shape.soft_cap > 0) score = std::tanh(score / shape.soft_cap) * shape.soft_cap;
    weights.push_back(score);
  }
  const double maximum = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) {
    weight = std::exp(weight - maximum);
    sum += weight;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const double* value = v.row(keys[i]);
    const double share = weights[i] / sum;
    for (size_t e = 0; e < out.size(); ++e) out[e] += share * value[e];
  }
  return maximum + std::log(sum);
}

std::vector<int64_t> oracle_visible(const AttentionShape& shape, int64_t position,
                                    int64_t seq_len) {
  std::vector<int64_t> keys;
  for (int64_t key = 0; key < seq_len; ++key) {
    const bool ahead = shape.mask == ATTNPLAN_MASK_CAUSAL && key > position;
    const bool gone = shape.sliding_window > 0 && position - key >= shape.sliding_window;
    if (!ahead && !gone) keys.push_back(key);
  }
  return keys;
}

}  // namespace attnplan::cpu
