// A matrix instruction of any struct of the raw level of hip/mma.h, by its maps alone.
#pragma once

#include <array>
#include <cstdint>

#include "simt/machine.h"

namespace attnplan::simt {

// An instruction's operand: which element of the row-major matrix is element e of lane l, at
// [l * elements + e].
struct MatrixOperand {
  int elements;
  const uint16_t* map;
};

struct MatrixShape {
  int m, n, k;
  bool bf16;  // or fp16
  MatrixOperand a, b, d;
};

// The registers of one lane.
struct MatrixRegisters {
  const uint32_t* a;
  const uint32_t* b;
  float* d;
};

// D = A B + D; the instruction's `detail` is a MatrixShape.
void execute_multiply(const WaveOperands& operands);

template <class I>
struct MatrixMaps {
  template <int kElements, class Map>
  static constexpr auto table(Map map, int columns) {
    std::array<uint16_t, I::kWave* kElements> at = {};
    for (int l = 0; l < I::kWave; ++l) {
      for (int e = 0; e < kElements; ++e) {
        at[l * kElements + e] = static_cast<uint16_t>(map(l, e).row * columns + map(l, e).column);
      }
    }
    return at;
  }
  static constexpr auto kA = table<2 * I::kAWords>(I::a, I::kK);
  static constexpr auto kB = table<2 * I::kBWords>(I::b, I::kN);
  static constexpr auto kD = table<I::kDWords>(I::d, I::kN);
  static constexpr MatrixShape kShape = {I::kM,
                                         I::kN,
                                         I::kK,
                                         I::Element::kBf16,
                                         {2 * I::kAWords, kA.data()},
                                         {2 * I::kBWords, kB.data()},
                                         {I::kDWords, kD.data()}};
};

template <class I>
void multiply(const char* name, const uint32_t* a, const uint32_t* b, float* d, Site site) {
  static const Instruction instruction = {name, execute_multiply, &MatrixMaps<I>::kShape};
  MatrixRegisters registers = {a, b, d};
  wave_instruction(instruction, &registers, I::kWave, site);
}

}  // namespace attnplan::simt
