// A small KV cache written down element by element: its letters are looped over from the outermost
// to the innermost, and every element gets the next address. No strides, no page ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnplan.h"

namespace attnplan::kv_test {

enum class Tensor { kK, kV };

// One element of the cache, by what it is.
struct Element {
  Tensor tensor = Tensor::kK;
  int64_t layer = 0;
  int64_t block = 0;
  int64_t head = 0;
  int64_t token = 0;  // in its block
  int64_t element = 0;
};

struct Placed {
  Element what;
  int64_t address = 0;  // elements from the start of the storage
};

struct SmallCache {
  attnplan_layout layout = ATTNPLAN_LAYOUT_LBNHC;
  bool packed = false;
  bool shuffle = false;
  int64_t element_bytes = 2;
  int64_t blocks = 3, block_size = 32, page_size = 16;  // in tokens
  int64_t layers = 1;  // that lie in one block: more than one only where blocks are outermost
  int64_t heads = 2;
  int64_t k_size = 16, v_size = 16;
  int64_t block_padding = 0;  // unused elements behind every block

  int64_t pages_per_block() const { return block_size / page_size; }
  int64_t row() const { return k_size > v_size ? k_size : v_size; }  // K and V pages are one size
  int64_t block_elements() const;  // of the storage, padding included
  std::string describe() const;
};

// Every element of K and V. Where K and V lie apart, V's storage follows K's.
std::vector<Placed> enumerate(const SmallCache& cache);

}  // namespace attnplan::kv_test
