#include "view_address.h"

namespace attnplan::kv_test {
namespace {

struct Strides {
  int64_t layer = 0, head = 0, token = 0, element = 1;
};

// Strides of one page of plain rows of `row` elements.
Strides strides_of(const SmallCache& cache, int64_t page, int64_t row) {
  const int64_t head_page = page * row;
  switch (cache.layout) {
    case ATTNPLAN_LAYOUT_LBNHC:
      return {0, row, cache.heads * row, 1};
    case ATTNPLAN_LAYOUT_BLNHC:
      return {cache.heads * head_page, row, cache.heads * row, 1};
    case ATTNPLAN_LAYOUT_LBHNC:
      return {0, head_page, row, 1};
    case ATTNPLAN_LAYOUT_BLHNC:
      return {cache.heads * head_page, head_page, row, 1};
    case ATTNPLAN_LAYOUT_BHLNC:
      return {head_page, cache.layers * head_page, row, 1};
    default:
      return {0, 0, row, 1};
  }
}

// A shuffled page is [H, row / x, page, x] for K and [H, page / x, row, x] for V.
int64_t offset_in_page(const SmallCache& cache, int64_t page, const Element& what) {
  const bool k_rows = what.tensor == Tensor::kK || cache.layout == ATTNPLAN_LAYOUT_MLA;
  const int64_t row = k_rows ? cache.k_size : cache.v_size;
  const int64_t token = what.token % page;
  Strides strides = strides_of(cache, page, row);
  if (!cache.shuffle) {
    return what.layer * strides.layer + what.head * strides.head + token * strides.token +
           what.element;
  }
  const int64_t x = 16 / cache.element_bytes;
  if (cache.layout != ATTNPLAN_LAYOUT_LHBNC && cache.layout != ATTNPLAN_LAYOUT_BHLNC) {
    strides.head = page * row;  // heads come first, whatever the letters of plain rows say
  }
  const int64_t base = what.layer * strides.layer + what.head * strides.head;
  if (what.tensor == Tensor::kK) {
    return base + (what.element / x * page + token) * x + what.element % x;
  }
  return base + (token / x * row + what.element) * x + token % x;
}

}  // namespace

int64_t page_id(const attnplan_kv_view& view, const Element& what) {
  return what.block * view.block_page_stride + what.token / view.page_size;
}

int64_t view_address(const attnplan_kv_view& view, const SmallCache& cache, const Element& what) {
  const bool is_v = what.tensor == Tensor::kV;
  const bool v_apart = is_v && view.packed == 0 && cache.layout != ATTNPLAN_LAYOUT_MLA;
  // Packed, the V view is K's storage from `pages_per_block` pages on: the same id lands there.
  const int64_t id = page_id(view, what) + (is_v && view.packed != 0 ? view.pages_per_block : 0);
  const int64_t block = id / view.block_page_stride;
  const int64_t page = id % view.block_page_stride;
  const int64_t page_stride = (view.block_stride - cache.block_padding) / view.block_page_stride;
  const int64_t base = v_apart ? view.last_offset + 1 : 0;
  const int64_t inside = offset_in_page(cache, view.page_size, what);
  if (cache.layout != ATTNPLAN_LAYOUT_LHBNC) {
    return base + block * view.block_stride + page * page_stride + inside;
  }
  // One plane for every head slot: the view's strides, shared out among the heads.
  const int64_t plane = (view.last_offset + 1) / cache.heads;
  return base + what.head * plane + (block * view.block_stride + page * page_stride) / cache.heads +
         inside;
}

}  // namespace attnplan::kv_test
