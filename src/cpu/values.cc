#include "cpu/values.h"

#include <cmath>

namespace attnplan::cpu {
namespace {

constexpr double kStoredSteps = 8;               // to 1: three bits, as e5m2 has
constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio: spreads counters

// A bijection of 64-bit words in which every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 29;
  x *= 0xa0761d6478bd642fu;
  return x ^ (x >> 32);
}

uint64_t join(uint64_t key, int64_t index) {
  return mix(key ^ (static_cast<uint64_t>(index) + 1) * kStep);
}

}  // namespace

void Values::fill(Tensor tensor, int64_t request, int64_t token, int64_t head, int32_t size,
                  double* out) const {
  uint64_t key = join(seed_, static_cast<int64_t>(tensor));
  key = join(join(join(key, request), token), head);
  const bool query = tensor == Tensor::kQuery || tensor == Tensor::kIndexQuery;
  const double width = (query ? 8.0 : 2.0) * 0x1.0p-53;
  const double low = query ? -4.0 : -1.0;
  for (int32_t e = 0; e < size; ++e) {
    const uint64_t bits = mix(key + static_cast<uint64_t>(e) * kStep);
    out[e] = low + width * static_cast<double>(bits >> 11);
    if (grid_ == Grid::kStored) out[e] = std::floor(out[e] * kStoredSteps) / kStoredSteps;
  }
}

}  // namespace attnplan::cpu
