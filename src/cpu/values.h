// Seeded Q, K and V as pure functions of their indices: nothing has to be stored, and the same
// number comes out on every platform, whoever asks and in whatever order.
#pragma once

#include <cstdint>

namespace attnplan::cpu {

enum class Tensor : uint64_t { kQuery = 1, kKey, kValue, kIndexQuery, kIndexKey };

class Values {
 public:
  // kStored: numbers on a grid that every format of a cache holds exactly.
  enum class Grid { kFine, kStored };
  explicit Values(uint64_t seed, Grid grid = Grid::kFine) : seed_(seed), grid_(grid) {}

  // out[e] for e < size: the vector of one head at one token of a request. Queries count tokens
  // from the first row of the request, keys and values from position 0. K and V are uniform in
  // [-1, 1), queries in [-4, 4) so that softmax is far from flat.
  void fill(Tensor tensor, int64_t request, int64_t token, int64_t head, int32_t size,
            double* out) const;

 private:
  uint64_t seed_;
  Grid grid_;
};

}  // namespace attnplan::cpu
