#include "cpu/kv_layout.h"

#include <algorithm>
#include <numeric>

namespace attnplan::cpu {
namespace {

struct PageForm {
  int32_t page_size;
  int64_t heads;
  int64_t row;       // elements of one head at one token
  bool token_major;  // [token][head][row], else [head][token][row]
};

TensorLayout plain_page(const PageForm& page) {
  TensorLayout layout;
  layout.head_stride = page.token_major ? page.row : page.page_size * page.row;
  layout.token_stride = page.token_major ? page.heads * page.row : page.row;
  layout.page_stride = page.page_size * page.heads * page.row;
  return layout;
}

// [head, row / x, token, x] for K and [head, token / x, row, x] for V; x falls to what divides.
TensorLayout shuffled_page(const PageForm& page, int64_t x, bool is_key) {
  TensorLayout layout = plain_page({page.page_size, page.heads, page.row, false});
  if (is_key) {
    x = std::gcd(x, page.row);
    layout.token_stride = x;
    layout.element_split = x;
    layout.element_stride = page.page_size * x;
  } else {
    x = std::gcd(x, static_cast<int64_t>(page.page_size));
    layout.token_split = x;
    layout.token_stride = page.row * x;
    layout.element_stride = x;
  }
  return layout;
}

int64_t elements_per_16_bytes(const attnplan_kv_cache& cache) {
  const bool wide = cache.cache_dtype == ATTNPLAN_CACHE_AUTO ||
                    cache.cache_dtype == ATTNPLAN_CACHE_BF16 ||
                    cache.cache_dtype == ATTNPLAN_CACHE_FP16;
  return wide ? 8 : 16;
}

bool token_major(attnplan_layout layout) {
  return layout == ATTNPLAN_LAYOUT_LBNHC || layout == ATTNPLAN_LAYOUT_BLNHC ||
         layout == ATTNPLAN_LAYOUT_MLA;
}

// [head][block][token][row] of lhbnc and, by the given block stride, [block][head][...] of bhlnc:
// each head has its own run of pages.
void spread_heads(const PageForm& page, int64_t head_stride, int64_t block_stride,
                  TensorLayout& layout) {
  layout.page_stride = page.page_size * page.row;
  layout.head_stride = head_stride;
  layout.block_stride = block_stride;
}

}  // namespace

KvLayout make_layout(const attnplan_kv_cache& cache, const AttentionShape& shape,
                     int64_t num_blocks) {
  const bool packed = (cache.flags & ATTNPLAN_KV_PACKED) != 0;
  const bool shuffle = (cache.flags & ATTNPLAN_KV_SHUFFLE) != 0;
  const bool latent = cache.layout == ATTNPLAN_LAYOUT_MLA;
  const int64_t heads = latent ? 1 : shape.num_kv_heads;
  KvLayout layout;
  layout.page_size = cache.page_size > 0 ? cache.page_size : cache.block_size;
  layout.pages_per_block = cache.block_size / layout.page_size;
  layout.block_page_stride = (packed ? 2 : 1) * layout.pages_per_block;

  const auto place = [&](int64_t row, bool is_key) {
    const PageForm page{layout.page_size, heads, row, token_major(cache.layout)};
    TensorLayout tensor =
        shuffle ? shuffled_page(page, elements_per_16_bytes(cache), is_key) : plain_page(page);
    if (packed) {  // both tensors take pages of one size, so that one id addresses both
      const int64_t longest = std::max(shape.head_size, shape.v_head_size);
      tensor.page_stride = layout.page_size * heads * longest;
    }
    const int64_t block =
        std::max(cache.block_stride, layout.block_page_stride * tensor.page_stride);
    tensor.block_stride = block;
    const int64_t head_block = block / heads;
    if (cache.layout == ATTNPLAN_LAYOUT_LHBNC) {
      spread_heads(page, num_blocks * head_block, head_block, tensor);
    } else if (cache.layout == ATTNPLAN_LAYOUT_BHLNC && !packed) {
      spread_heads(page, head_block, block, tensor);
    }
    return tensor;
  };
  layout.k = place(shape.head_size, true);
  if (latent) {
    layout.v = layout.k;
    return layout;
  }
  layout.v = place(shape.v_head_size, false);
  layout.v.base = packed ? layout.pages_per_block * layout.v.page_stride
                         : num_blocks * layout.k.block_stride *
                               (cache.layout == ATTNPLAN_LAYOUT_LHBNC ? heads : 1);
  return layout;
}

KvLayout make_index_layout(int32_t block_size, int32_t index_head_size) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = ATTNPLAN_LAYOUT_MLA;
  cache.block_size = block_size;
  AttentionShape shape;
  shape.num_q_heads = 1;
  shape.head_size = index_head_size;
  return make_layout(cache, shape, 0);
}

}  // namespace attnplan::cpu
