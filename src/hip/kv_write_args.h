// What kv_write is handed. Plain data, passed by value.
#pragma once

#include <cstdint>

#include "hip/attention_args.h"

namespace attnplan::hip {

// New rows of one tensor and where in the cache they go. Source strides in elements; the last
// dimension is contiguous, rows are 16-byte aligned.
struct KvWriteTensor {
  const uint16_t* rows;  // [rows, num_heads, head_size], bf16 or fp16
  int64_t row_stride;
  int64_t head_stride;
  int32_t num_heads;  // 0: this tensor is not written
  int32_t head_size;  // elements, a multiple of 8
  uint8_t* cache;
  CacheTensor layout;        // strides; its `data` is not used
  int32_t pages_per_stride;  // as in AttentionArgs
  int32_t shuffled_values;   // `layout` is that of shuffled V
  float* scales;             // of single tokens, to be written, where scale_layout says; or NULL
  ScaleTensor scale_layout;  // strides; its `data` is not used
  float scale;               // of the whole tensor where there are no scales of tokens
};

// An fp8 byte is value / scale, rounded to nearest even, clamped to the format's largest number;
// NaN stays NaN. The scale of a token and head is its largest magnitude / the format's largest
// number, NaN left out, infinity taken as the largest float, and at least 2^-126; 1 where all is 0.
struct KvWriteArgs {
  KvWriteTensor tensors[3];  // K, V, index K
  const int64_t* slots;      // [num_rows] token address; negative: the row is not written
  int32_t num_rows;          // num_rows * num_heads has to stay below 2^31
  int32_t page_shift;        // log2 of the page size
  int32_t source_is_bf16;    // else fp16; a 16-bit cache is of the same dtype
  int32_t head_lanes;        // 8, 16 or 32: times 8 not below the largest head size
  int32_t* bad_pages;        // slots on pages outside [0, num_pages) are skipped and set this to 1;
  int32_t num_pages;         // NULL: trusted
};

inline constexpr int kKvWriteThreads = 256;

}  // namespace attnplan::hip
