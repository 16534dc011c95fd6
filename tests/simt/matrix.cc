#include "simt/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attnplan::simt {
namespace {

constexpr int kMostRows = 16;
constexpr int kMostK = 32;
constexpr int kMostColumns = 16;

// IEEE-like: sign, `exponent_bits`, the rest mantissa; the last exponent is for infinity and NaN.
float decode(uint32_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t last = (1u << exponent_bits) - 1;
  const uint32_t exponent = (bits >> mantissa_bits) & last;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const bool normal = exponent != 0;
  double value = std::ldexp(mantissa + (normal ? 1u << mantissa_bits : 0u),
                            (normal ? static_cast<int>(exponent) : 1) - bias - mantissa_bits);
  if (exponent == last) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return static_cast<float>((bits & 0x8000u) != 0 ? -value : value);
}

std::vector<float> decoding_table(int exponent_bits, bool flush_subnormals) {
  std::vector<float> values(0x10000);
  for (uint32_t bits = 0; bits < values.size(); ++bits) {
    const bool zero_exponent = (bits & 0x7fffu) >> (15 - exponent_bits) == 0;
    values[bits] = decode(flush_subnormals && zero_exponent ? bits & 0x8000u : bits, exponent_bits);
  }
  return values;
}

// The number that each of 65536 patterns stands for.
const float* decoding(bool bf16, bool flush_subnormals) {
  static const std::vector<float> tables[2][2] = {
      {decoding_table(5, false), decoding_table(5, true)},
      {decoding_table(8, false), decoding_table(8, true)}};
  return tables[bf16][flush_subnormals].data();
}

float kept(float value, bool flush_subnormals) {
  return flush_subnormals && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                                    : value;
}

void gather(const MatrixOperand& operand, int lane, const uint32_t* words, const float* values,
            float* matrix) {
  const uint16_t* map = operand.map + lane * operand.elements;
  for (int e = 0; e < operand.elements; ++e) {
    matrix[map[e]] = values[(words[e / 2] >> (16 * (e % 2))) & 0xffffu];
  }
}

// Only arithmetic on arrays of the right size: not slowed down by sanitizers.
template <class Sum, int kColumns>
__attribute__((no_sanitize("address"), no_sanitize("undefined"))) void sum_products(
    const float* a, const float* b, float* d, int m, int depth, const SumOrder& order) {
  for (int i = 0; i < m; ++i) {
    Sum sums[kColumns];
    for (int j = 0; j < kColumns; ++j) sums[j] = order.addend_last ? 0 : d[i * kColumns + j];
    for (int o = 0; o < kMostK; ++o) {
      const int k = order.k[o];
      if (k >= depth) continue;
      const Sum factor = a[i * depth + k];
      for (int j = 0; j < kColumns; ++j) sums[j] += factor * b[k * kColumns + j];
    }
    for (int j = 0; j < kColumns; ++j) {
      const Sum addend = order.addend_last ? d[i * kColumns + j] : 0;
      d[i * kColumns + j] = static_cast<float>(sums[j] + addend);
    }
  }
}

template <class Sum>
void sum_products(const float* a, const float* b, float* d, const MatrixShape& shape,
                  const SumOrder& order) {
  if (shape.n == 16) {
    sum_products<Sum, 16>(a, b, d, shape.m, shape.k, order);
  } else {
    sum_products<Sum, 8>(a, b, d, shape.m, shape.k, order);
  }
}

}  // namespace

void execute_multiply(const WaveOperands& operands) {
  const auto& shape = *static_cast<const MatrixShape*>(operands.detail());
  const SumOrder& order = operands.order();
  const bool flush = order.flush_subnormals;
  const float* values = decoding(shape.bf16, flush);
  float a[kMostRows * kMostK];
  float b[kMostK * kMostColumns];
  float d[kMostRows * kMostColumns];
  std::fill_n(a, shape.m * shape.k, NAN);  // what no lane brings
  std::fill_n(b, shape.k * shape.n, NAN);
  std::fill_n(d, shape.m * shape.n, NAN);
  for (int l = 0; l < operands.lanes(); ++l) {
    const auto& own = operands.of<MatrixRegisters>(l);
    gather(shape.a, l, own.a, values, a);
    gather(shape.b, l, own.b, values, b);
    const uint16_t* map = shape.d.map + l * shape.d.elements;
    for (int e = 0; e < shape.d.elements; ++e) d[map[e]] = kept(own.d[e], flush);
  }
  if (order.in_double) {
    sum_products<double>(a, b, d, shape, order);
  } else {
    sum_products<float>(a, b, d, shape, order);
  }
  for (int l = 0; l < operands.lanes(); ++l) {
    const auto& own = operands.of<MatrixRegisters>(l);
    const uint16_t* map = shape.d.map + l * shape.d.elements;
    for (int e = 0; e < shape.d.elements; ++e) own.d[e] = kept(d[map[e]], flush);
  }
}

}  // namespace attnplan::simt
