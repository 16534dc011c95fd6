// Borders: offsets, page choices, tile alignment, counts that a caller gives, contradictions.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "resolve.h"

namespace attnplan::kv_test {
namespace {

attnplan_kv_cache with_stride(int32_t num_blocks, int64_t stride) {
  attnplan_kv_cache cache = make_cache(num_blocks, 480);
  cache.layout = ATTNPLAN_LAYOUT_MLA;
  cache.block_stride = stride;
  return cache;
}

Model latent() {
  Model model;
  model.head_size = 576;
  model.v_head_size = 512;
  return model;
}

TEST(Offsets, AreJudgedByTheLastElement) {
  attnplan_kv_cache cache = with_stride(7767, 276480);
  cache.offset_unit = ATTNPLAN_OFFSET_ELEMENTS;
  cache.offset_max = INT32_MAX;
  const Resolved fits = resolve(cache, latent());
  ASSERT_EQ(fits.status, ATTNPLAN_OK);
  EXPECT_EQ(fits.view.last_offset, int64_t{7767} * 276480 - 1);
  EXPECT_EQ(fits.view.needs_64bit, 0);
  cache.num_blocks = 7768;
  const Resolved passes = resolve(cache, latent());
  EXPECT_EQ(passes.status, ATTNPLAN_PLAN_ERROR);
  EXPECT_EQ(passes.code, ATTNPLAN_CODE_OFFSET_OVERFLOW);
  EXPECT_EQ(passes.limit, INT32_MAX);
  // Block 7767 starts below the limit: judging by first elements would let it pass.
  EXPECT_LT(int64_t{7767} * 276480, int64_t{INT32_MAX});
}

TEST(Offsets, HoldToTheElement) {
  attnplan_kv_cache cache = with_stride(1, int64_t{1} << 31);
  EXPECT_EQ(resolve(cache, latent()).view.last_offset, INT32_MAX);
  EXPECT_EQ(resolve(cache, latent()).view.needs_64bit, 0);
  cache.offset_unit = ATTNPLAN_OFFSET_ELEMENTS;
  cache.offset_max = INT32_MAX;
  EXPECT_EQ(resolve(cache, latent()).status, ATTNPLAN_OK);
  cache.block_stride += 1;
  EXPECT_EQ(resolve(cache, latent()).code, ATTNPLAN_CODE_OFFSET_OVERFLOW);
  cache.offset_max += 1;
  ASSERT_EQ(resolve(cache, latent()).status, ATTNPLAN_OK);
  EXPECT_EQ(resolve(cache, latent()).view.needs_64bit, 1);
}

TEST(Offsets, HoldToTheByte) {
  for (const int64_t limit : {int64_t{INT32_MAX}, int64_t{UINT32_MAX}}) {
    for (const int64_t bytes : {int64_t{1}, int64_t{2}}) {
      attnplan_kv_cache cache = with_stride(1, (limit + 1) / bytes);
      cache.cache_dtype = bytes == 1 ? ATTNPLAN_CACHE_FP8 : ATTNPLAN_CACHE_BF16;
      cache.offset_unit = ATTNPLAN_OFFSET_BYTES;
      cache.offset_max = limit;
      EXPECT_EQ(resolve(cache, latent()).status, ATTNPLAN_OK) << limit << " bytes " << bytes;
      cache.block_stride += 1;
      EXPECT_EQ(resolve(cache, latent()).code, ATTNPLAN_CODE_OFFSET_OVERFLOW)
          << limit << " bytes " << bytes;
    }
  }
}

TEST(Offsets, TheLastByteOfTheLastElementCounts) {
  attnplan_kv_cache cache = with_stride(1, 500);  // bf16: bytes 0 to 999
  cache.offset_unit = ATTNPLAN_OFFSET_BYTES;
  cache.offset_max = 999;
  EXPECT_EQ(resolve(cache, latent()).status, ATTNPLAN_OK);
  cache.offset_max = 998;
  EXPECT_EQ(resolve(cache, latent()).code, ATTNPLAN_CODE_OFFSET_OVERFLOW);
}

TEST(Offsets, AKernelsLimitIsAReason) {
  attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
  for (const attnplan_offset_unit unit : {ATTNPLAN_OFFSET_ELEMENTS, ATTNPLAN_OFFSET_BYTES}) {
    const int64_t bytes = unit == ATTNPLAN_OFFSET_BYTES ? 2 : 1;
    for (const int64_t max : {int64_t{INT32_MAX}, int64_t{UINT32_MAX}}) {
      kernel.offset_unit = unit;
      kernel.offset_max = max;
      attnplan_kv_cache cache = with_stride(1, (max + 1) / bytes);
      EXPECT_EQ(argument_of(cache, latent(), {kernel}).kernel, 0) << unit << " " << max;
      cache.block_stride += 1;
      const Argument refused = argument_of(cache, latent(), {kernel});
      EXPECT_EQ(refused.kernel, 1) << unit << " " << max;
      EXPECT_EQ(refused.refused, 1u << ATTNPLAN_REASON_OFFSET_OVERFLOW);
    }
  }
}

TEST(Offsets, HugeCachesDoNotWrap) {
  const Resolved resolved = resolve(with_stride(INT32_MAX, int64_t{1} << 20), latent());
  ASSERT_EQ(resolved.status, ATTNPLAN_OK);
  EXPECT_EQ(resolved.view.last_offset, int64_t{INT32_MAX} * (int64_t{1} << 20) - 1);
  EXPECT_EQ(resolved.view.needs_64bit, 1);
  // 2^95 elements: no 64-bit offset reaches the last one.
  EXPECT_EQ(resolve(with_stride(INT32_MAX, INT64_MAX), latent()).status, ATTNPLAN_PLAN_ERROR);
  const Resolved pages = resolve(make_cache(INT32_MAX, 128, 1));
  ASSERT_EQ(pages.status, ATTNPLAN_OK);
  EXPECT_EQ(pages.view.k_pages, int64_t{INT32_MAX} * 128);
  EXPECT_EQ(pages.view.max_page_id, int64_t{INT32_MAX} * 128 - 1);
}

int32_t chosen_page(int32_t block_size, const std::vector<int32_t>& page_sizes) {
  attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
  kernel.page_sizes = {page_sizes.data(), page_sizes.size()};
  const Argument argument = argument_of(make_cache(4, block_size), {}, {kernel});
  if (argument.kernel == 0) return argument.page_size;
  EXPECT_EQ(argument.refused, 1u << ATTNPLAN_REASON_PAGE_SIZE_UNSUPPORTED);
  return 0;
}

TEST(Pages, KernelsGetTheLargestOfTheirsThatDividesTheBlock) {
  const std::vector<int32_t> sizes = {16, 32, 64, 128};
  EXPECT_EQ(chosen_page(4192, sizes), 32);
  EXPECT_EQ(chosen_page(2112, sizes), 64);
  EXPECT_EQ(chosen_page(128, sizes), 128);
  EXPECT_EQ(chosen_page(100, sizes), 0);
  EXPECT_EQ(chosen_page(4192, {128, 32, 64, 16}), 32) << "in whatever order they are listed";
  EXPECT_EQ(chosen_page(64, sizes), 64) << "a page may not be larger than the block";
  for (int32_t block = 1; block <= 600; ++block) {
    int32_t expected = 0;
    for (int32_t page : sizes) {
      if (block % page == 0) expected = page;
    }
    ASSERT_EQ(chosen_page(block, sizes), expected) << block;
  }
}

TEST(Pages, EveryKernelChoosesForItself) {
  const int32_t small[] = {16}, large[] = {64};
  attnplan_contract first = make_kernel("d0", ATTNPLAN_ROUTE_DECODE);
  first.page_sizes = {small, 1};
  attnplan_contract second = make_kernel("d1", ATTNPLAN_ROUTE_DECODE);
  second.page_sizes = {large, 1};
  EXPECT_EQ(argument_of(make_cache(4, 128), {}, {first, second}).page_size, 16);
  EXPECT_EQ(argument_of(make_cache(4, 128), {}, {second, first}).page_size, 64);
  EXPECT_EQ(argument_of(make_cache(4, 128), {}, {}).page_size, 128) << "no list: whole blocks";
}

TEST(Pages, AGivenPageSizeIsNobodysChoice) {
  const int32_t sizes[] = {16, 64};
  attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
  kernel.page_sizes = {sizes, 2};
  EXPECT_EQ(argument_of(make_cache(4, 128, 16), {}, {kernel}).page_size, 16);
  const Argument refused = argument_of(make_cache(4, 128, 32), {}, {kernel});
  EXPECT_EQ(refused.kernel, 1);
  EXPECT_EQ(refused.refused, 1u << ATTNPLAN_REASON_PAGE_SIZE_UNSUPPORTED);
}

TEST(Pages, AreMultiplesOfTheTile) {
  attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
  for (const int32_t tile : {1, 8, 16, 32, 48, 64}) {
    for (const int32_t page : {8, 16, 32, 64, 192}) {
      kernel.tile_tokens = tile;
      const Argument argument = argument_of(make_cache(4, 192, page), {}, {kernel});
      EXPECT_EQ(argument.kernel == 0, page % tile == 0) << "tile " << tile << " page " << page;
      if (argument.kernel != 0) {
        EXPECT_EQ(argument.refused, 1u << ATTNPLAN_REASON_TILE_MISALIGNED);
      }
    }
  }
}

TEST(Pages, MustDivideTheBlock) {
  for (const auto& [block, page] : {std::pair{100, 16}, {16, 32}, {2112, 128}, {4192, 64}}) {
    const Resolved resolved = resolve(make_cache(4, block, page));
    EXPECT_EQ(resolved.code, ATTNPLAN_CODE_BLOCK_SIZE_UNSUPPORTED) << block << " " << page;
  }
}

struct Counts {
  int32_t num_blocks;
  int64_t k_pages, v_pages;
};

TEST(Pages, PackedCachesOfTheField) {
  for (const Counts& c : {Counts{128, 2048, 2040}, {55673, 890768, 890760}, {512, 8192, 8184}}) {
    attnplan_kv_cache cache = make_cache(c.num_blocks, 128, 16);
    cache.layout = ATTNPLAN_LAYOUT_LBHNC;
    cache.flags = ATTNPLAN_KV_PACKED | ATTNPLAN_KV_SHUFFLE;
    const Resolved derived = resolve(cache);
    ASSERT_EQ(derived.status, ATTNPLAN_OK);
    EXPECT_EQ(derived.view.k_pages, c.k_pages);
    EXPECT_EQ(derived.view.v_pages, c.v_pages);
    EXPECT_EQ(derived.view.pages, c.v_pages);
    EXPECT_EQ(derived.view.dropped_k_pages, 8);
    EXPECT_EQ(derived.view.max_page_id, c.v_pages - 1);
    EXPECT_EQ(derived.view.block_page_stride, 16);
    EXPECT_EQ(derived.view.pages_per_block, 8);
    EXPECT_EQ(derived.view.packed, 1);

    cache.flags = 0;
    const Resolved dense = resolve(cache);
    EXPECT_EQ(dense.view.block_page_stride, 8);
    EXPECT_EQ(dense.view.k_pages, c.num_blocks * 8);
    EXPECT_EQ(dense.view.dropped_k_pages, 0);
    EXPECT_EQ(dense.view.packed, 0);
  }
}

TEST(Pages, GivenCountsWinAndAreTrimmed) {
  attnplan_kv_cache cache = make_cache(128, 128, 16);
  cache.flags = ATTNPLAN_KV_PACKED;
  cache.scale = ATTNPLAN_SCALE_TOKEN_HEAD;
  cache.k_pages = 2048;
  cache.v_pages = 2044;
  cache.k_scale_pages = 2046;
  cache.v_scale_pages = 2041;
  const Resolved resolved = resolve(cache);
  ASSERT_EQ(resolved.status, ATTNPLAN_OK);
  EXPECT_EQ(resolved.view.k_pages, 2048);
  EXPECT_EQ(resolved.view.v_pages, 2044);
  EXPECT_EQ(resolved.view.pages, 2044);
  EXPECT_EQ(resolved.view.dropped_k_pages, 4);
  EXPECT_EQ(resolved.view.k_scale_pages, 2041);
  EXPECT_EQ(resolved.view.v_scale_pages, 2041);
  EXPECT_EQ(resolved.view.block_page_stride, 16) << "from the layout, never from counts";

  cache.scale = ATTNPLAN_SCALE_HEAD;  // not per token: no pages of scales
  EXPECT_EQ(resolve(cache).view.k_scale_pages, 0);
  EXPECT_EQ(resolve(cache).view.v_scale_pages, 0);
}

TEST(Pages, ATrimMayNotCutWhatABlockCanReach) {
  for (const bool packed : {false, true}) {
    attnplan_kv_cache cache = make_cache(128, 128, 16);
    if (packed) cache.flags = ATTNPLAN_KV_PACKED;
    cache.scale = ATTNPLAN_SCALE_TOKEN_HEAD;
    const int64_t needed = resolve(cache).view.max_page_id + 1;
    EXPECT_EQ(needed, packed ? 2040 : 1024);
    for (int64_t attnplan_kv_cache::*count :
         {&attnplan_kv_cache::k_pages, &attnplan_kv_cache::v_pages,
          &attnplan_kv_cache::k_scale_pages, &attnplan_kv_cache::v_scale_pages}) {
      attnplan_kv_cache given = cache;
      given.*count = needed;
      EXPECT_EQ(resolve(given).status, ATTNPLAN_OK);
      given.*count = needed - 1;
      const Resolved refused = resolve(given);
      EXPECT_EQ(refused.status, ATTNPLAN_PLAN_ERROR);
      EXPECT_EQ(refused.code, ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE);
    }
  }
}

TEST(Layouts, ContradictionsAreRefused) {
  for (int32_t layout = ATTNPLAN_LAYOUT_LBNHC; layout <= ATTNPLAN_LAYOUT_MLA; ++layout) {
    for (const uint32_t flags :
         {0u, ATTNPLAN_KV_PACKED, ATTNPLAN_KV_PACKED | ATTNPLAN_KV_SHUFFLE}) {
      for (int32_t scale = ATTNPLAN_SCALE_NONE; scale <= ATTNPLAN_SCALE_TOKEN_INLINE; ++scale) {
        attnplan_kv_cache cache = make_cache(4, 128, 16);
        cache.layout = layout;
        cache.flags = flags;
        cache.scale = scale;
        const bool packed = (flags & ATTNPLAN_KV_PACKED) != 0;
        const bool contradiction =
            packed && (layout == ATTNPLAN_LAYOUT_LHBNC || layout == ATTNPLAN_LAYOUT_MLA ||
                       scale == ATTNPLAN_SCALE_TOKEN_INLINE);
        EXPECT_EQ(resolve(cache).code,
                  contradiction ? ATTNPLAN_CODE_LAYOUT_UNSUPPORTED : ATTNPLAN_CODE_NONE)
            << "layout " << layout << " flags " << flags << " scale " << scale;
      }
    }
  }
}

TEST(Layouts, StridesAreDerivedFromTheRowsUnlessGiven) {
  Model model;
  model.num_kv_heads = 4;
  model.head_size = 64;
  attnplan_kv_cache cache = make_cache(10, 32);
  EXPECT_EQ(resolve(cache, model).view.block_stride, 32 * 4 * 64);
  cache.flags = ATTNPLAN_KV_PACKED;
  EXPECT_EQ(resolve(cache, model).view.block_stride, 2 * 32 * 4 * 64);
  EXPECT_EQ(resolve(cache, model).view.last_offset, 10 * 2 * 32 * 4 * 64 - 1);
  cache.flags = 0;
  cache.layout = ATTNPLAN_LAYOUT_MLA;
  EXPECT_EQ(resolve(cache, model).view.block_stride, 32 * 64);
  cache.block_stride = 999999;
  EXPECT_EQ(resolve(cache, model).view.block_stride, 999999);
  EXPECT_EQ(resolve(cache, model).view.last_offset, 9999989);
}

TEST(Layouts, KernelsListThem) {
  attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
  for (int32_t listed = ATTNPLAN_LAYOUT_LBNHC; listed <= ATTNPLAN_LAYOUT_MLA; ++listed) {
    for (int32_t layout = ATTNPLAN_LAYOUT_LBNHC; layout <= ATTNPLAN_LAYOUT_MLA; ++layout) {
      kernel.layouts = 1u << listed;
      attnplan_kv_cache cache = make_cache(4, 128);
      cache.layout = layout;
      const Argument argument = argument_of(cache, {}, {kernel});
      EXPECT_EQ(argument.kernel, listed == layout ? 0 : 1);
      if (listed != layout) {
        EXPECT_EQ(argument.refused, 1u << ATTNPLAN_REASON_LAYOUT_UNSUPPORTED);
      }
    }
  }
}

}  // namespace
}  // namespace attnplan::kv_test
