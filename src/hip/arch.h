// What an architecture is, as numbers. The only file that looks at compiler macros of one. Device
// code takes an architecture as a template argument; kernels get `DeviceArch`. Host code must not
// name DeviceArch: its pass sees no architecture and would instantiate other templates.
#pragma once

#include "hip/platform.h"

namespace attnplan::hip {

enum class Matrix { kMfma, kMmaSync };

struct Gfx90a {
  static constexpr int kWave = 64;
  static constexpr Matrix kMatrix = Matrix::kMfma;
  static constexpr int kMatrixK = 16;  // 16-bit elements a matrix instruction sums over
  static constexpr bool kFlushesSubnormals = true;  // of 16-bit matrix operands
  static constexpr bool kConvertsFnuz = false;      // has fp8 conversions, of the FNUZ formats
  static constexpr bool kConvertsOcp = false;       // has fp8 conversions, of the OCP formats
  static constexpr int kVectorRegisters = 512;      // a lane, accumulation registers included
};

struct Gfx942 : Gfx90a {
  static constexpr bool kFlushesSubnormals = false;
  static constexpr bool kConvertsFnuz = true;
};

struct Gfx950 : Gfx90a {
  static constexpr int kMatrixK = 32;
  static constexpr bool kFlushesSubnormals = false;
  static constexpr bool kConvertsOcp = true;
};

struct Sm90 {
  static constexpr int kWave = 32;
  static constexpr Matrix kMatrix = Matrix::kMmaSync;
  static constexpr int kMatrixK = 16;
  static constexpr bool kFlushesSubnormals = false;
  static constexpr bool kConvertsFnuz = false;
  static constexpr bool kConvertsOcp = true;
  static constexpr int kVectorRegisters = 255;
};

#if defined(ATTNPLAN_HIP_NVIDIA)
using DeviceArch = Sm90;
#elif defined(__gfx950__)
using DeviceArch = Gfx950;
#elif defined(__gfx90a__)
using DeviceArch = Gfx90a;
#elif !defined(ATTNPLAN_HIP_EMULATED)
using DeviceArch = Gfx942;  // and the host pass, which only parses device code
#endif

}  // namespace attnplan::hip

// Builtins that exist only where the device pass compiles for them.
#if defined(__gfx950__)
#define ATTNPLAN_HIP_HAS_MFMA_K32 1
#define ATTNPLAN_HIP_HAS_BF16_CONVERSION 1
#endif
#if defined(__gfx942__) || defined(__gfx950__)
#define ATTNPLAN_HIP_HAS_FP8_CONVERSION 1
#endif
