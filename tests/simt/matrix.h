// A matrix instruction of any struct of the raw level of hip/mma.h, by its maps alone.
#pragma once

#include <cstdint>

#include "simt/machine.h"

namespace attnplan::simt {

// The number that 16 bits stand for, by the definition of the format.
float decode(uint16_t bits, bool bf16, bool flush_subnormals);
// What an instruction makes of a float32 operand or result.
float maybe_flushed(float value, bool flush_subnormals);

struct MatrixOperands {
  const uint32_t* a;
  const uint32_t* b;
  float* d;
};

// Element `e` of packed words.
inline uint16_t element_of(const uint32_t* words, int e) {
  return static_cast<uint16_t>(words[e / 2] >> (16 * (e % 2)));
}

template <class Sum, class I>
void sum_products(const float (&a)[I::kM][I::kK], const float (&b)[I::kK][I::kN],
                  float (&d)[I::kM][I::kN], const SumOrder& order) {
  Sum sums[I::kM][I::kN];
  for (int i = 0; i < I::kM; ++i) {
    for (int j = 0; j < I::kN; ++j) sums[i][j] = order.addend_last ? Sum{0} : Sum{d[i][j]};
  }
  for (const uint8_t k : order.k) {
    if (k >= I::kK) continue;
    for (int i = 0; i < I::kM; ++i) {
      for (int j = 0; j < I::kN; ++j) sums[i][j] += Sum{a[i][k]} * Sum{b[k][j]};
    }
  }
  for (int i = 0; i < I::kM; ++i) {
    for (int j = 0; j < I::kN; ++j) {
      d[i][j] = static_cast<float>(order.addend_last ? sums[i][j] + Sum{d[i][j]} : sums[i][j]);
    }
  }
}

template <class I>
void execute_multiply(const WaveOperands& operands) {
  constexpr bool kBf16 = I::Element::kBf16;
  const SumOrder& order = operands.order();
  const bool flush = order.flush_subnormals;
  float a[I::kM][I::kK];
  float b[I::kK][I::kN];
  float d[I::kM][I::kN];
  for (int l = 0; l < I::kWave; ++l) {
    const MatrixOperands& own = operands.of<MatrixOperands>(l);
    for (int e = 0; e < 2 * I::kAWords; ++e) {
      a[I::a(l, e).row][I::a(l, e).column] = decode(element_of(own.a, e), kBf16, flush);
    }
    for (int e = 0; e < 2 * I::kBWords; ++e) {
      b[I::b(l, e).row][I::b(l, e).column] = decode(element_of(own.b, e), kBf16, flush);
    }
    for (int e = 0; e < I::kDWords; ++e) {
      d[I::d(l, e).row][I::d(l, e).column] = maybe_flushed(own.d[e], flush);
    }
  }
  order.in_double ? sum_products<double, I>(a, b, d, order)
                  : sum_products<float, I>(a, b, d, order);
  for (int l = 0; l < I::kWave; ++l) {
    const MatrixOperands& own = operands.of<MatrixOperands>(l);
    for (int e = 0; e < I::kDWords; ++e) {
      own.d[e] = maybe_flushed(d[I::d(l, e).row][I::d(l, e).column], flush);
    }
  }
}

template <class I>
void multiply(const char* name, const uint32_t* a, const uint32_t* b, float* d,
              Site site = Site::here()) {
  static const Instruction instruction = {name, execute_multiply<I>};
  MatrixOperands operands = {a, b, d};
  wave_instruction(instruction, &operands, I::kWave, site);
}

}  // namespace attnplan::simt
