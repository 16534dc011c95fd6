// Where the pages of a cache lie, as the strides that kernels take. Formulas: docs/kv-cache.md.
#pragma once

#include <cstdint>

#include "attnplan_types.h"
#include "hip/attention_args.h"

namespace attnplan::hip {

struct CacheShape {
  int32_t num_kv_heads;
  int32_t head_size;
  int32_t v_head_size;
  int32_t element_bytes;  // 1 or 2
  int32_t page_size;      // tokens of a kernel page: divides the cache's block
};

struct CacheStrides {
  CacheTensor k;  // data NULL
  CacheTensor v;
  int32_t pages_per_stride;
  int64_t pages_per_block;
  int64_t block_page_stride;  // page ids between two blocks
  int64_t v_base;             // bytes from K's first to V's, where both are in one storage
};

// Any layout but mla; numbers are those of a cache that resolve_kv_view accepts.
CacheStrides make_cache_strides(const attnplan_kv_cache& cache, const CacheShape& shape);

// True where every row and page begins at a multiple of 16 bytes, as 16-byte loads want it.
bool aligned_for_kernels(const CacheStrides& strides);

}  // namespace attnplan::hip
