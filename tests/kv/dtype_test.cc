// What the bytes of a cache are called: at binding time, and in the argument of each kernel.
#include <gtest/gtest.h>

#include <string>

#include "resolve.h"

namespace attnplan::kv_test {
namespace {

constexpr attnplan_dtype kBf16 = ATTNPLAN_DTYPE_BF16;
constexpr attnplan_dtype kFp16 = ATTNPLAN_DTYPE_FP16;
constexpr attnplan_dtype kBytes = ATTNPLAN_DTYPE_UINT8;
constexpr attnplan_dtype kE4m3 = ATTNPLAN_DTYPE_E4M3FN;
constexpr attnplan_dtype kE4m3Fnuz = ATTNPLAN_DTYPE_E4M3FNUZ;
constexpr attnplan_dtype kE5m2 = ATTNPLAN_DTYPE_E5M2;
constexpr attnplan_dtype kE5m2Fnuz = ATTNPLAN_DTYPE_E5M2FNUZ;

// Only one family has the fnuz flavours.
struct Arch {
  const char* name;
  bool fnuz;
};
constexpr Arch kArchs[] = {{"gfx90a", false},  {"gfx940", true},  {"gfx941", true},
                           {"gfx942", true},   {"gfx950", false}, {"gfx1100", false},
                           {"gfx1201", false}, {"sm_80", false},  {"sm_89", false},
                           {"sm_90", false},   {"sm_100", false}};

struct Row {
  attnplan_cache_dtype cache;
  attnplan_dtype storage, view;            // outside gfx94x
  attnplan_dtype fnuz_storage, fnuz_view;  // on it
};
constexpr Row kRows[] = {
    {ATTNPLAN_CACHE_AUTO, kBf16, kBf16, kBf16, kBf16},
    {ATTNPLAN_CACHE_BF16, kBf16, kBf16, kBf16, kBf16},
    {ATTNPLAN_CACHE_FP16, kFp16, kFp16, kFp16, kFp16},
    {ATTNPLAN_CACHE_FP8, kBytes, kE4m3, kBytes, kE4m3Fnuz},
    {ATTNPLAN_CACHE_FP8_E4M3, kBytes, kE4m3, kBytes, kE4m3Fnuz},
    {ATTNPLAN_CACHE_FP8_INC, kE4m3, kE4m3, kE4m3Fnuz, kE4m3Fnuz},
    {ATTNPLAN_CACHE_FP8_E5M2, kBytes, kE5m2, kBytes, kE5m2Fnuz},
};

attnplan_kv_cache cache_of(attnplan_cache_dtype dtype, uint32_t flags = 0) {
  attnplan_kv_cache cache = make_cache(16, 128);
  cache.cache_dtype = dtype;
  cache.flags = flags;
  return cache;
}

Model on(const char* arch) {
  Model model;
  model.arch = arch;
  return model;
}

TEST(Dtype, StorageAndViewFollowTheCacheStringAndTheArch) {
  for (const Arch& arch : kArchs) {
    for (const Row& row : kRows) {
      SCOPED_TRACE(std::string(arch.name) + ", cache dtype " + std::to_string(row.cache));
      const attnplan_dtype storage = arch.fnuz ? row.fnuz_storage : row.storage;
      const attnplan_dtype view = arch.fnuz ? row.fnuz_view : row.view;
      const Resolved raw = resolve(cache_of(row.cache), on(arch.name));
      ASSERT_EQ(raw.status, ATTNPLAN_OK);
      EXPECT_EQ(raw.view.storage_dtype, storage);
      EXPECT_EQ(raw.view.view_dtype, view);
      EXPECT_EQ(raw.view.label, storage) << "a raw consumer asked";
      const Resolved typed = resolve(cache_of(row.cache, ATTNPLAN_KV_TYPED), on(arch.name));
      ASSERT_EQ(typed.status, ATTNPLAN_OK);
      EXPECT_EQ(typed.view.storage_dtype, storage);
      EXPECT_EQ(typed.view.view_dtype, view);
      EXPECT_EQ(typed.view.label, view) << "a typed consumer asked";
    }
  }
}

TEST(Dtype, AGivenStorageIsWhatRawConsumersGet) {
  attnplan_kv_cache cache = cache_of(ATTNPLAN_CACHE_FP8);
  cache.storage_dtype = ATTNPLAN_DTYPE_E4M3FN;
  const attnplan_kv_view view = resolve(cache, on("gfx950")).view;
  EXPECT_EQ(view.storage_dtype, ATTNPLAN_DTYPE_E4M3FN);
  EXPECT_EQ(view.view_dtype, ATTNPLAN_DTYPE_E4M3FN);
  EXPECT_EQ(view.label, ATTNPLAN_DTYPE_E4M3FN);
  cache.storage_dtype = ATTNPLAN_DTYPE_UINT8;
  cache.flags = ATTNPLAN_KV_TYPED;
  EXPECT_EQ(resolve(cache, on("gfx942")).view.label, ATTNPLAN_DTYPE_E4M3FNUZ);
}

TEST(Dtype, ViewsOfTheWrongFlavourAreRefused) {
  for (const Arch& arch : kArchs) {
    for (const Row& row : kRows) {
      const attnplan_dtype right = arch.fnuz ? row.fnuz_view : row.view;
      for (attnplan_dtype given = kBf16; given <= kE5m2Fnuz; ++given) {
        SCOPED_TRACE(std::string(arch.name) + ", cache dtype " + std::to_string(row.cache) +
                     ", view " + std::to_string(given));
        attnplan_kv_cache cache = cache_of(row.cache);
        cache.view_dtype = given;
        const Resolved resolved = resolve(cache, on(arch.name));
        EXPECT_EQ(resolved.code,
                  given == right ? ATTNPLAN_CODE_NONE : ATTNPLAN_CODE_DTYPE_MISMATCH);
        if (given == right) {
          EXPECT_EQ(resolved.view.view_dtype, right);
        }
      }
    }
  }
}

TEST(Dtype, AnElementOfAnotherSizeIsRefused) {
  for (const attnplan_cache_dtype fp8 : {ATTNPLAN_CACHE_FP8, ATTNPLAN_CACHE_FP8_E4M3,
                                         ATTNPLAN_CACHE_FP8_E5M2, ATTNPLAN_CACHE_FP8_INC}) {
    attnplan_kv_cache cache = cache_of(fp8);
    cache.storage_dtype = ATTNPLAN_DTYPE_BF16;
    EXPECT_EQ(resolve(cache).code, ATTNPLAN_CODE_DTYPE_MISMATCH) << fp8;
  }
  attnplan_kv_cache cache = cache_of(ATTNPLAN_CACHE_BF16);
  cache.storage_dtype = ATTNPLAN_DTYPE_UINT8;
  EXPECT_EQ(resolve(cache).code, ATTNPLAN_CODE_DTYPE_MISMATCH);
}

TEST(Dtype, TheFlavourChangesNoPageArithmetic) {
  attnplan_kv_cache cache = make_cache(128, 128, 16);
  cache.flags = ATTNPLAN_KV_PACKED;
  const attnplan_kv_view plain = resolve(cache).view;
  for (const Row& row : kRows) {
    cache.cache_dtype = row.cache;
    const attnplan_kv_view view = resolve(cache, on("gfx942")).view;
    EXPECT_EQ(view.pages, plain.pages);
    EXPECT_EQ(view.block_page_stride, plain.block_page_stride);
    EXPECT_EQ(view.block_stride, plain.block_stride) << "strides count elements";
    EXPECT_EQ(view.last_offset, plain.last_offset);
  }
}

TEST(Dtype, EachKernelIsHandedTheLabelItAskedFor) {
  for (const Arch& arch : kArchs) {
    for (const Row& row : kRows) {
      for (const uint32_t consumer : {0u, ATTNPLAN_KV_TYPED}) {
        SCOPED_TRACE(std::string(arch.name) + ", cache dtype " + std::to_string(row.cache));
        attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
        kernel.dtype_label = ATTNPLAN_LABEL_VIEW;
        const attnplan_kv_cache cache = cache_of(row.cache, consumer);
        Argument argument = argument_of(cache, on(arch.name), {kernel});
        ASSERT_EQ(argument.kernel, 0);
        EXPECT_EQ(argument.label, arch.fnuz ? row.fnuz_view : row.view);
        kernel.dtype_label = ATTNPLAN_LABEL_STORAGE;
        argument = argument_of(cache, on(arch.name), {kernel});
        ASSERT_EQ(argument.kernel, 0);
        EXPECT_EQ(argument.label, arch.fnuz ? row.fnuz_storage : row.storage);
      }
    }
  }
}

TEST(Dtype, ContractsListViewLabels) {
  attnplan_contract kernel = make_kernel("d", ATTNPLAN_ROUTE_DECODE);
  kernel.dtype_label = ATTNPLAN_LABEL_STORAGE;
  kernel.dtypes = 1u << ATTNPLAN_DTYPE_E4M3FN;
  const attnplan_kv_cache cache = cache_of(ATTNPLAN_CACHE_FP8);
  EXPECT_EQ(argument_of(cache, on("gfx950"), {kernel}).kernel, 0);
  const Argument refused = argument_of(cache, on("gfx942"), {kernel});
  EXPECT_EQ(refused.kernel, 1);
  EXPECT_EQ(refused.refused, 1u << ATTNPLAN_REASON_DTYPE_UNSUPPORTED);
  kernel.dtypes = 1u << ATTNPLAN_DTYPE_UINT8;  // what the storage is called is not what it is
  EXPECT_EQ(argument_of(cache, on("gfx950"), {kernel}).kernel, 1);
}

}  // namespace
}  // namespace attnplan::kv_test
