#include "cpu/formats.h"

#include <cmath>
#include <limits>

namespace attnplan::cpu {
namespace {

struct Definition {
  const char* name;
  attnplan_dtype dtype;
  int bytes;
  int fraction_bits;
  int bias;
  uint32_t sign;       // bit
  uint32_t largest;    // code of the largest finite number
  bool unsigned_zero;  // the code of -0 is the one NaN
  uint8_t poison;
};

// In the order of Format.
constexpr Definition kDefinitions[] = {
    {"bf16", ATTNPLAN_DTYPE_BF16, 2, 7, 127, 0x8000, 0x7f7f, false, 0xff},
    {"fp16", ATTNPLAN_DTYPE_FP16, 2, 10, 15, 0x8000, 0x7bff, false, 0xff},
    {"e4m3fn", ATTNPLAN_DTYPE_E4M3FN, 1, 3, 7, 0x80, 0x7e, false, 0xff},
    {"e4m3fnuz", ATTNPLAN_DTYPE_E4M3FNUZ, 1, 3, 8, 0x80, 0x7f, true, 0x80},
    {"e5m2", ATTNPLAN_DTYPE_E5M2, 1, 2, 15, 0x80, 0x7b, false, 0xff},
};

const Definition& definition(Format format) { return kDefinitions[static_cast<int>(format)]; }

// Of a finite code without its sign.
double magnitude(const Definition& of, uint32_t code) {
  const uint32_t ones = 1u << of.fraction_bits;
  const auto exponent = static_cast<int>(code >> of.fraction_bits);
  const double fraction = code % ones;
  const double significand = exponent == 0 ? fraction : ones + fraction;
  return std::ldexp(significand, (exponent == 0 ? 1 : exponent) - of.bias - of.fraction_bits);
}

}  // namespace

const char* name_of(Format format) { return definition(format).name; }
int bytes_of(Format format) { return definition(format).bytes; }
attnplan_dtype dtype_of(Format format) { return definition(format).dtype; }
uint8_t poison_byte(Format format) { return definition(format).poison; }

double decode(Format format, uint32_t code) {
  const Definition& of = definition(format);
  const uint32_t positive = code & ~of.sign;
  const bool negative = (code & of.sign) != 0;
  if (positive > of.largest || (of.unsigned_zero && code == of.sign)) {
    return std::numeric_limits<double>::quiet_NaN();  // infinities too: nobody stores them
  }
  return negative ? -magnitude(of, positive) : magnitude(of, positive);
}

uint32_t encode(Format format, double value) {
  const Definition& of = definition(format);
  const double size = std::fabs(value);
  // Codes ascend with their numbers: the last one that is not beyond `size`.
  uint32_t low = 0, high = of.largest;
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (magnitude(of, middle) <= size)
      low = middle;
    else
      high = middle - 1;
  }
  if (low < of.largest) {
    const double below = size - magnitude(of, low), above = magnitude(of, low + 1) - size;
    if (above < below || (above == below && low % 2 == 1)) ++low;
  }
  const bool negative = std::signbit(value) && !(of.unsigned_zero && low == 0);
  return negative ? low | of.sign : low;
}

}  // namespace attnplan::cpu
