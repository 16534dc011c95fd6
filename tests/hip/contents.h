// Queries, keys and values of a problem, as codes of their formats and as the numbers that these
// stand for. Keys and values are pure functions of the place they are stored at.
//
// Half of the queries look for a needle: a token, at an edge of what the row may see or just
// outside of it, whose score towers over all others if it is seen. One key too many or too few
// there changes everything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hip/description.h"
#include "hip/step.h"

namespace attnplan::hip_test {

enum class Tensor { kKey, kValue };

class Contents {
 public:
  Contents(const Description& description, const Step& step);

  // Of one head at one token of a block: codes[head size] of the cache's format.
  void codes(Tensor tensor, int32_t block, int32_t token, int32_t kv_head,
             std::span<uint32_t> codes) const;
  // 1 unless scales belong to tokens.
  float token_scale(Tensor tensor, int32_t block, int32_t token, int32_t kv_head) const;
  float tensor_scale(Tensor tensor) const { return tensor_scale_[static_cast<int>(tensor)]; }
  // What is attended: numbers times scales.
  void numbers(Tensor tensor, int32_t block, int32_t token, int32_t kv_head,
               std::span<double> numbers) const;

  // [rows, q heads, head size]
  const std::vector<uint16_t>& queries() const { return queries_; }
  double softmax_scale() const { return softmax_scale_; }

 private:
  struct Code {
    uint32_t code;
    double number;
  };
  uint64_t hash(Tensor tensor, int32_t block, int32_t token, int32_t kv_head) const;
  void draw_pools();
  void draw_queries();
  void draw_query(int32_t request, int64_t row, int32_t head, std::span<uint16_t> query) const;
  int64_t draw_needle(int32_t request, int64_t position, uint64_t dice) const;

  const Description& d_;
  const Step& step_;
  double softmax_scale_;
  float tensor_scale_[2] = {1, 1};
  std::vector<Code> pool_[2];
  std::vector<uint16_t> queries_;
};

}  // namespace attnplan::hip_test
