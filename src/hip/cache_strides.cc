#include "hip/cache_strides.h"

#include <algorithm>

namespace attnplan::hip {
namespace {

constexpr int64_t kRun = 16;  // bytes that a lane loads at a time

bool token_major(attnplan_layout layout) {
  return layout == ATTNPLAN_LAYOUT_LBNHC || layout == ATTNPLAN_LAYOUT_BLNHC;
}

// Heads of these layouts lie blocks apart, each with pages of its own.
bool has_head_planes(const attnplan_kv_cache& cache) {
  const bool packed = (cache.flags & ATTNPLAN_KV_PACKED) != 0;
  return cache.layout == ATTNPLAN_LAYOUT_LHBNC ||
         (cache.layout == ATTNPLAN_LAYOUT_BHLNC && !packed);
}

// Inside one page, for rows of `row` bytes.
CacheTensor inside_page(const attnplan_kv_cache& cache, const CacheShape& shape, int64_t row,
                        bool is_key) {
  CacheTensor tensor = {};
  tensor.chunk_stride = kRun;
  tensor.token_stride = row;
  tensor.head_stride = shape.page_size * row;
  if ((cache.flags & ATTNPLAN_KV_SHUFFLE) != 0) {
    if (is_key) {  // [head][16-byte chunk of the row][token]
      tensor.token_stride = kRun;
      tensor.chunk_stride = shape.page_size * kRun;
    } else {  // [head][16 bytes of tokens][element]
      tensor.token_stride = row / shape.element_bytes * kRun;
    }
  } else if (token_major(cache.layout)) {
    tensor.token_stride = shape.num_kv_heads * row;
    tensor.head_stride = row;
  }
  return tensor;
}

}  // namespace

CacheStrides make_cache_strides(const attnplan_kv_cache& cache, const CacheShape& shape) {
  const bool packed = (cache.flags & ATTNPLAN_KV_PACKED) != 0;
  CacheStrides strides = {};
  strides.pages_per_block = cache.block_size / shape.page_size;
  strides.block_page_stride = strides.pages_per_block * (packed ? 2 : 1);

  const int64_t bytes = shape.element_bytes, heads = shape.num_kv_heads;
  const int64_t longest = std::max(shape.head_size, shape.v_head_size) * bytes;
  const auto place = [&](int32_t head_size, bool is_key) {
    const int64_t row = head_size * bytes;
    CacheTensor tensor = inside_page(cache, shape, row, is_key);
    // Packed, one id addresses both tensors, so their pages are of one size.
    const int64_t page = shape.page_size * heads * (packed ? longest : row);
    // Less than a block takes is no stride.
    const int64_t block = std::max(cache.block_stride * bytes, strides.block_page_stride * page);
    tensor.page_stride = page;
    tensor.block_stride = block;
    if (has_head_planes(cache)) {
      const int64_t head_block = block / bytes / heads * bytes;
      const bool outermost = cache.layout == ATTNPLAN_LAYOUT_LHBNC;
      tensor.page_stride = shape.page_size * row;
      tensor.block_stride = outermost ? head_block : block;
      tensor.head_stride = outermost ? cache.num_blocks * head_block : head_block;
    }
    return tensor;
  };
  strides.k = place(shape.head_size, true);
  strides.v = place(shape.v_head_size, false);
  strides.v_base = packed ? strides.pages_per_block * strides.v.page_stride
                          : cache.num_blocks * strides.k.block_stride *
                                (cache.layout == ATTNPLAN_LAYOUT_LHBNC ? heads : 1);

  // Where blocks follow one another without a gap, pages do.
  const auto gapless = [&](const CacheTensor& tensor) {
    return tensor.block_stride == strides.block_page_stride * tensor.page_stride;
  };
  strides.pages_per_stride = static_cast<int32_t>(strides.block_page_stride);
  if (gapless(strides.k) && gapless(strides.v)) {
    strides.pages_per_stride = 1;
    strides.k.block_stride = strides.k.page_stride;
    strides.v.block_stride = strides.v.page_stride;
  }
  return strides;
}

bool aligned_for_kernels(const CacheStrides& strides) {
  for (const CacheTensor& t : {strides.k, strides.v}) {
    for (const int64_t stride :
         {t.block_stride, t.page_stride, t.head_stride, t.token_stride, t.chunk_stride}) {
      if (stride % kRun != 0) return false;
    }
  }
  return strides.v_base % kRun == 0;
}

}  // namespace attnplan::hip
