// Every layout of the cache page, element by element: the address that follows from the resolved
// view against the storage written out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "resolve.h"
#include "storage.h"
#include "view_address.h"

namespace attnplan::kv_test {
namespace {

constexpr bool kPlain = false, kShuffled = true;

bool may_be_packed(attnplan_layout layout) {
  return layout != ATTNPLAN_LAYOUT_LHBNC && layout != ATTNPLAN_LAYOUT_MLA;
}

bool block_is_outermost(attnplan_layout layout) {
  return layout == ATTNPLAN_LAYOUT_BLHNC || layout == ATTNPLAN_LAYOUT_BLNHC ||
         layout == ATTNPLAN_LAYOUT_BHLNC;
}

// Sizes, pages, strides and element widths of one kind of cache.
void add_variants(const SmallCache& kind, std::vector<SmallCache>* out) {
  for (const int64_t bytes : {int64_t{2}, int64_t{1}}) {
    for (const int64_t page : {int64_t{8}, int64_t{16}, int64_t{32}}) {
      if (!kind.shuffle && bytes == 1) continue;        // strides count elements
      if (kind.shuffle && page * bytes < 16) continue;  // less than one 16-byte load
      for (const auto& [k, v] : {std::pair<int64_t, int64_t>{16, 16}, {32, 16}, {16, 48}}) {
        if (kind.layout == ATTNPLAN_LAYOUT_MLA && v > k) continue;  // V is a prefix of K
        SmallCache cache = kind;
        cache.element_bytes = bytes;
        cache.page_size = page;
        cache.k_size = k;
        cache.v_size = v;
        out->push_back(cache);
        if (kind.layout == ATTNPLAN_LAYOUT_LHBNC) continue;  // nothing lies behind a block
        cache.block_padding = 100;
        out->push_back(cache);
        if (!block_is_outermost(kind.layout)) continue;
        cache.block_padding = 0;
        cache.layers = 3;
        out->push_back(cache);
      }
    }
  }
}

std::vector<SmallCache> all_caches() {
  std::vector<SmallCache> out;
  for (int32_t layout = ATTNPLAN_LAYOUT_LBNHC; layout <= ATTNPLAN_LAYOUT_MLA; ++layout) {
    for (const bool packed : {false, true}) {
      if (packed && !may_be_packed(layout)) continue;
      for (const bool shuffle : {kPlain, kShuffled}) {
        if (shuffle && layout == ATTNPLAN_LAYOUT_MLA) continue;  // a latent row is one row
        SmallCache kind;
        kind.layout = layout;
        kind.packed = packed;
        kind.shuffle = shuffle;
        if (layout == ATTNPLAN_LAYOUT_MLA) kind.heads = 1;
        add_variants(kind, &out);
      }
    }
  }
  return out;
}

// The default stride is the library's to find wherever the page gives a formula for it.
bool needs_given_stride(const SmallCache& cache) {
  return cache.layers > 1 || cache.block_padding > 0;
}

attnplan_kv_cache describe(const SmallCache& cache) {
  attnplan_kv_cache out =
      make_cache(static_cast<int32_t>(cache.blocks), static_cast<int32_t>(cache.block_size),
                 static_cast<int32_t>(cache.page_size));
  out.layout = cache.layout;
  if (cache.packed) out.flags |= ATTNPLAN_KV_PACKED;
  if (cache.shuffle) out.flags |= ATTNPLAN_KV_SHUFFLE;
  out.cache_dtype = cache.element_bytes == 1 ? ATTNPLAN_CACHE_FP8 : ATTNPLAN_CACHE_AUTO;
  if (!cache.packed) out.scale = ATTNPLAN_SCALE_TOKEN_INLINE;
  if (cache.packed) out.scale = ATTNPLAN_SCALE_TOKEN_HEAD;
  if (needs_given_stride(cache)) out.block_stride = cache.block_elements();
  return out;
}

Model model_of(const SmallCache& cache) {
  Model model;
  model.num_kv_heads = static_cast<int32_t>(cache.heads);
  model.num_q_heads = model.num_kv_heads * 4;
  model.head_size = static_cast<int32_t>(cache.k_size);
  model.v_head_size = static_cast<int32_t>(cache.v_size);
  return model;
}

TEST(Addresses, AreThoseOfTheStorageWrittenOut) {
  for (const SmallCache& cache : all_caches()) {
    SCOPED_TRACE(cache.describe());
    const Resolved resolved = resolve(describe(cache), model_of(cache));
    ASSERT_EQ(resolved.status, ATTNPLAN_OK);
    const std::vector<Placed> storage = enumerate(cache);
    ASSERT_EQ(static_cast<int64_t>(storage.size()), cache.layers * cache.blocks * cache.block_size *
                                                        cache.heads *
                                                        (cache.k_size + cache.v_size));
    for (const Placed& placed : storage) {
      ASSERT_EQ(view_address(resolved.view, cache, placed.what), placed.address)
          << (placed.what.tensor == Tensor::kK ? "K" : "V") << " layer " << placed.what.layer
          << " block " << placed.what.block << " head " << placed.what.head << " token "
          << placed.what.token << " element " << placed.what.element;
    }
  }
}

TEST(Addresses, NeverCollide) {
  for (const SmallCache& cache : all_caches()) {
    SCOPED_TRACE(cache.describe());
    const attnplan_kv_view view = resolve(describe(cache), model_of(cache)).view;
    std::unordered_set<int64_t> seen;
    size_t expected = 0;
    for (const Placed& placed : enumerate(cache)) {
      // V of a latent row is K, by definition.
      if (cache.layout == ATTNPLAN_LAYOUT_MLA && placed.what.tensor == Tensor::kV) continue;
      seen.insert(view_address(view, cache, placed.what));
      ++expected;
    }
    ASSERT_EQ(seen.size(), expected);
  }
}

TEST(Addresses, EndAtTheLastOffset) {
  for (const SmallCache& cache : all_caches()) {
    SCOPED_TRACE(cache.describe());
    const attnplan_kv_view view = resolve(describe(cache), model_of(cache)).view;
    const bool v_apart = !cache.packed && cache.layout != ATTNPLAN_LAYOUT_MLA;
    int64_t last_k = 0, last_v = 0;
    for (const Placed& placed : enumerate(cache)) {
      int64_t* last = placed.what.tensor == Tensor::kK ? &last_k : &last_v;
      *last = std::max(*last, view_address(view, cache, placed.what));
    }
    if (v_apart) last_v -= view.last_offset + 1;
    ASSERT_LE(std::max(last_k, last_v), view.last_offset);
    if (cache.block_padding > 0) continue;
    // Packed, a V page shorter than its K page leaves the last few elements unused.
    if (cache.packed && cache.v_size < cache.k_size) continue;
    ASSERT_EQ(std::max(last_k, last_v), view.last_offset);
  }
}

TEST(Addresses, TrimmedViewsHoldEveryPage) {
  for (const SmallCache& cache : all_caches()) {
    SCOPED_TRACE(cache.describe());
    const attnplan_kv_view view = resolve(describe(cache), model_of(cache)).view;
    ASSERT_EQ(view.k_pages, view.block_page_stride * cache.blocks);
    ASSERT_EQ(view.pages, std::min(view.k_pages, view.v_pages));
    ASSERT_EQ(view.dropped_k_pages, view.k_pages - view.pages);
    ASSERT_EQ(view.page_size, cache.page_size);
    int64_t largest = 0;
    std::unordered_set<int64_t> ids;
    for (const Placed& placed : enumerate(cache)) {
      largest = std::max(largest, page_id(view, placed.what));
      ids.insert(page_id(view, placed.what));
    }
    ASSERT_EQ(static_cast<int64_t>(ids.size()), cache.blocks * cache.pages_per_block());
    ASSERT_EQ(largest, view.max_page_id);
    ASSERT_LT(largest, view.pages);
    if (cache.packed) {
      ASSERT_EQ(view.pages, largest + 1) << "packed, the trim ends behind the last page";
      // The V view is shorter by what it starts later: its last page is the storage's last.
      ASSERT_EQ(view.v_pages + view.pages_per_block, view.k_pages);
      ASSERT_EQ(view.k_scale_pages, view.pages);
      ASSERT_EQ(view.v_scale_pages, view.pages);
    } else {
      ASSERT_EQ(view.dropped_k_pages, 0);
      ASSERT_EQ(view.k_scale_pages, 0) << "scales inside the rows have no pages of their own";
    }
  }
}

TEST(Addresses, ShuffleChangesNoPageArithmetic) {
  for (SmallCache cache : all_caches()) {
    if (!cache.shuffle) continue;
    SCOPED_TRACE(cache.describe());
    const attnplan_kv_view shuffled = resolve(describe(cache), model_of(cache)).view;
    cache.shuffle = false;
    const attnplan_kv_view plain = resolve(describe(cache), model_of(cache)).view;
    ASSERT_EQ(shuffled.k_pages, plain.k_pages);
    ASSERT_EQ(shuffled.v_pages, plain.v_pages);
    ASSERT_EQ(shuffled.pages, plain.pages);
    ASSERT_EQ(shuffled.max_page_id, plain.max_page_id);
    ASSERT_EQ(shuffled.block_page_stride, plain.block_page_stride);
    ASSERT_EQ(shuffled.block_stride, plain.block_stride);
    ASSERT_EQ(shuffled.last_offset, plain.last_offset);
  }
}

}  // namespace
}  // namespace attnplan::kv_test
