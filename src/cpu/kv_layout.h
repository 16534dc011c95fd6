// Where one element of a paged KV cache lies. Addresses count elements from the start of the
// storage and are always id * stride + offset, never derived from a shape.
#pragma once

#include <cstdint>

#include "attnplan.h"
#include "cpu/shape.h"

namespace attnplan::cpu {

// One of the two tensors of a cache. Inside a page, token t and element e lie at
//   (t / token_split) * token_stride + (t % token_split)
//     + (e / element_split) * element_stride + e % element_split,
// which covers plain rows (both splits 1) and both shuffled forms.
struct TensorLayout {
  int64_t base = 0;
  int64_t block_stride = 0;
  int64_t page_stride = 0;  // between the pages of one block
  int64_t head_stride = 0;
  int64_t token_split = 1;
  int64_t token_stride = 0;
  int64_t element_split = 1;
  int64_t element_stride = 1;

  int64_t element_offset(int64_t element) const {
    if (element_split == 1) return element * element_stride;
    return (element / element_split) * element_stride + element % element_split;
  }
};

struct KvLayout {
  TensorLayout k;
  TensorLayout v;
  int32_t page_size = 0;  // tokens
  int64_t pages_per_block = 0;
  int64_t block_page_stride = 0;  // page ids between two blocks

  // The id that one page of a block has in a page table, for K and V alike.
  int64_t page_id(int64_t block, int64_t page) const { return block * block_page_stride + page; }

  // Of element 0 of one head at one token of a page.
  int64_t row_address(const TensorLayout& tensor, int64_t page_id, int64_t head,
                      int64_t token) const {
    return tensor.base + (page_id / block_page_stride) * tensor.block_stride +
           (page_id % block_page_stride) * tensor.page_stride + head * tensor.head_stride +
           (token / tensor.token_split) * tensor.token_stride + token % tensor.token_split;
  }
};

// The layout of `cache` holding heads of `shape`. `num_blocks` is what the storage holds, which a
// layout of planes needs. A block stride below what the block takes counts as none.
// Packed with different head sizes: K and V pages are of one size, that of the longer rows.
KvLayout make_layout(const attnplan_kv_cache& cache, const AttentionShape& shape,
                     int64_t num_blocks);

// One index-K head per token, token-major, block by block.
KvLayout make_index_layout(int32_t block_size, int32_t index_head_size);

}  // namespace attnplan::cpu
