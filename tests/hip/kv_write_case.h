// Rows for a cache, and what the cache, its scales and the index have to be once kv_write was
// there: the addresses of src/cpu, number formats by their definitions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/kv_layout.h"
#include "hip/description.h"

namespace attnplan::hip_test {

struct KvWriteCase {
  std::string name;  // "e4m3fn/token/lbhnc+packed+shuffle/bf16"
  uint64_t seed = 1;
  uint64_t contents = 1;  // seed of slots and rows
  Format source = Format::kBf16;
  Format cache = Format::kBf16;
  Scales scales = Scales::kNone;
  attnplan_layout layout = ATTNPLAN_LAYOUT_LBNHC;
  bool packed = false;
  bool shuffle = false;
  int32_t num_blocks = 3;
  int32_t block_size = 64;
  int32_t page_size = 16;
  int32_t num_kv_heads = 1;
  int32_t head_size = 128;
  int32_t v_head_size = 128;
  int64_t block_stride_pad = 0;  // elements between blocks
  bool dense = true;             // rows and scales without room between

  bool token_scales() const { return scales == Scales::kTokenHead; }
};
std::string words(const KvWriteCase& c);
attnplan_kv_cache cache_of(const KvWriteCase& c);

// Every layout, form, source and scale of a cache; the rest is drawn from the seed.
std::vector<KvWriteCase> kv_write_cases(Format cache, uint64_t seed);

inline constexpr int32_t kIndexHead = 128;
inline constexpr uint8_t kUntouched = 0xa5;  // bytes of everything before it is written

// Rows of one tensor; strides in elements.
struct KvWriteRows {
  int32_t heads, head_size;
  int64_t row_stride, head_stride;
  float scale;  // of the tensor
  std::vector<uint16_t> codes;
};
struct KvScaleStrides {
  int64_t page, head, token;
};

// A case with its contents drawn. Images begin as kUntouched.
class KvWriteData {
 public:
  explicit KvWriteData(const KvWriteCase& given);

  const KvWriteCase c;
  const cpu::KvLayout layout;
  KvScaleStrides scale_strides;
  std::vector<int64_t> slots;  // negative: the row goes nowhere
  KvWriteRows rows[3];         // K, V, index K
  std::vector<uint8_t> cache;  // both tensors where src/cpu has them
  std::vector<uint8_t> scales[2];
  std::vector<uint8_t> index;

 private:
  struct Place;
  void draw_slots();
  void draw_rows();
  void expect_row(size_t row);
  void expect_head(const KvWriteRows& from, const uint16_t* codes, float* scale_of_token,
                   const Place& place);

  std::vector<int64_t> logical_;  // token of the cache, block by block; -1: none
};

// Where two images differ first; empty: nowhere.
std::string first_difference(const char* what, const std::vector<uint8_t>& found,
                             const std::vector<uint8_t>& expected);

}  // namespace attnplan::hip_test
