// The strides that kernels get against the layouts of the CPU reference, which shares no code with
// them: every element of both tensors at the same address.
#include "hip/cache_strides.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/kv_layout.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kBlocks = 3;

struct Case {
  attnplan_layout layout;
  uint32_t flags;
  bool fp8;
  int32_t block_size;
  int32_t page_size;
  int32_t heads;
  int32_t head_size;
  int32_t v_head_size;
  int64_t block_stride;  // elements

  std::string text() const {
    std::string words;
    for (const int64_t value :
         {int64_t{layout}, int64_t{flags}, int64_t{fp8}, int64_t{block_size}, int64_t{page_size},
          int64_t{heads}, int64_t{head_size}, int64_t{v_head_size}, block_stride}) {
      words += std::to_string(value) + " ";
    }
    return words;
  }
};

attnplan_kv_cache cache_of(const Case& c) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = c.layout;
  cache.flags = c.flags;
  cache.num_blocks = kBlocks;
  cache.block_size = c.block_size;
  cache.page_size = c.page_size;
  cache.cache_dtype = c.fp8 ? ATTNPLAN_CACHE_FP8 : ATTNPLAN_CACHE_BF16;
  cache.block_stride = c.block_stride;
  return cache;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](attnplan_layout layout, uint32_t flags, bool fp8) {
    for (const auto& [block, page] : {std::pair{16, 16}, {128, 16}, {64, 32}, {128, 128}}) {
      for (const auto& [k, v] : {std::pair{64, 64}, {192, 128}, {64, 128}}) {
        for (const int32_t heads : {1, 3}) {
          const int64_t takes = int64_t{2} * block * heads * std::max(k, v);
          for (const int64_t stride : {int64_t{0}, int64_t{16}, takes, takes + 480 * heads}) {
            cases.push_back({layout, flags, fp8, block, page, heads, k, v, stride});
          }
        }
      }
    }
  };
  for (const bool fp8 : {false, true}) {
    for (const uint32_t shuffle : {0u, ATTNPLAN_KV_SHUFFLE}) {
      for (attnplan_layout layout = 0; layout < ATTNPLAN_LAYOUT_MLA; ++layout) {
        add(layout, shuffle, fp8);
        if (layout != ATTNPLAN_LAYOUT_LHBNC) add(layout, shuffle | ATTNPLAN_KV_PACKED, fp8);
      }
    }
  }
  return cases;
}

// As attention_args.h words it.
int64_t byte_of(const CacheStrides& strides, const CacheTensor& t, const Case& c, int64_t id,
                int64_t head, int64_t token, int64_t element, bool is_key) {
  const int64_t bytes = c.fp8 ? 1 : 2;
  const int64_t page = id / strides.pages_per_stride * t.block_stride +
                       id % strides.pages_per_stride * t.page_stride + head * t.head_stride;
  if (!is_key && (c.flags & ATTNPLAN_KV_SHUFFLE) != 0) {
    const int64_t x = 16 / bytes;
    return page + token / x * t.token_stride + element * 16 + token % x * bytes;
  }
  const int64_t byte = element * bytes;
  return page + token * t.token_stride + byte / 16 * t.chunk_stride + byte % 16;
}

class EveryLayout {
 public:
  explicit EveryLayout(const Case& c) : case_(c) {
    const attnplan_kv_cache cache = cache_of(c);
    strides_ = make_cache_strides(
        cache, {c.heads, c.head_size, c.v_head_size, c.fp8 ? 1 : 2, c.page_size});
    cpu::AttentionShape shape;
    shape.num_q_heads = shape.num_kv_heads = c.heads;
    shape.head_size = c.head_size;
    shape.v_head_size = c.v_head_size;
    layout_ = cpu::make_layout(cache, shape, kBlocks);
  }

  void check() {
    ASSERT_EQ(strides_.block_page_stride, layout_.block_page_stride);
    ASSERT_EQ(strides_.pages_per_block, layout_.pages_per_block);
    ASSERT_EQ(strides_.v_base, bytes() * (layout_.v.base - layout_.k.base));
    check_tensor(strides_.k, layout_.k, case_.head_size, true);
    check_tensor(strides_.v, layout_.v, case_.v_head_size, false);
  }

 private:
  int64_t bytes() const { return case_.fp8 ? 1 : 2; }

  void check_tensor(const CacheTensor& ours, const cpu::TensorLayout& theirs, int32_t row,
                    bool is_key) {
    for (int64_t block = 0; block < kBlocks; ++block) {
      for (int64_t page = 0; page < layout_.pages_per_block; ++page) {
        const int64_t id = layout_.page_id(block, page);
        for (int64_t head = 0; head < case_.heads; ++head) {
          for (int64_t token = 0; token < case_.page_size; ++token) {
            const int64_t base = layout_.row_address(theirs, id, head, token) - theirs.base;
            for (int64_t element = 0; element < row; element += 3) {
              ASSERT_EQ(byte_of(strides_, ours, case_, id, head, token, element, is_key),
                        bytes() * (base + theirs.element_offset(element)))
                  << (is_key ? "K" : "V") << " page " << id << " head " << head << " token "
                  << token << " element " << element;
            }
          }
        }
      }
    }
  }

  Case case_;
  CacheStrides strides_;
  cpu::KvLayout layout_;
};

TEST(CacheStrides, AgreeWithTheReferenceAddressByAddress) {
  int gapless = 0, with_gaps = 0;
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.text());
    EveryLayout(c).check();
    if (testing::Test::HasFatalFailure()) return;
    const CacheStrides strides = make_cache_strides(
        cache_of(c), {c.heads, c.head_size, c.v_head_size, c.fp8 ? 1 : 2, c.page_size});
    (strides.pages_per_stride == 1 ? gapless : with_gaps)++;
    EXPECT_TRUE(aligned_for_kernels(strides));
  }
  EXPECT_GT(gapless, 100);
  EXPECT_GT(with_gaps, 100);
}

TEST(CacheStrides, ABlockStrideOfOddBytesIsNotForKernels) {
  Case c{ATTNPLAN_LAYOUT_LBNHC, 0, true, 16, 16, 1, 64, 64, 16 * 64 + 8};
  const CacheShape shape{1, 64, 64, 1, 16};
  EXPECT_FALSE(aligned_for_kernels(make_cache_strides(cache_of(c), shape)));
  c.block_stride += 8;
  EXPECT_TRUE(aligned_for_kernels(make_cache_strides(cache_of(c), shape)));
}

}  // namespace
}  // namespace attnplan::hip
