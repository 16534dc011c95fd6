// The number formats of queries and caches, by their definitions: what a code stands for, and the
// code nearest to a number. Shares nothing with src/hip.
#pragma once

#include <cstdint>

#include "attnplan_types.h"

namespace attnplan::cpu {

enum class Format { kBf16, kFp16, kE4m3fn, kE4m3fnuz, kE5m2 };

const char* name_of(Format format);
int bytes_of(Format format);
attnplan_dtype dtype_of(Format format);

double decode(Format format, uint32_t code);
// Nearest, ties to the even code; the largest finite number for what lies beyond.
uint32_t encode(Format format, double value);

// A byte that repeated is NaN in this format. In float32 it is NaN (0xff) or next to nothing
// (0x80).
uint8_t poison_byte(Format format);

}  // namespace attnplan::cpu
