#include "cpu/kv_layout.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace attnplan::cpu {
namespace {

constexpr int32_t kBlocks = 5;
constexpr int32_t kBlockTokens = 32;

struct Case {
  attnplan_layout layout;
  uint32_t flags;
  int32_t page_size;
  int32_t heads;
  int32_t head_size;
  int32_t v_head_size;
  int64_t block_stride;
};

attnplan_kv_cache cache_of(const Case& c) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = c.layout;
  cache.flags = c.flags;
  cache.num_blocks = kBlocks;
  cache.block_size = kBlockTokens;
  cache.page_size = c.page_size;
  cache.block_stride = c.block_stride;
  return cache;
}

AttentionShape shape_of(const Case& c) {
  AttentionShape shape;
  shape.num_q_heads = c.heads;
  shape.num_kv_heads = c.heads;
  shape.head_size = c.head_size;
  shape.v_head_size = c.v_head_size;
  return shape;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const int32_t page : {0, 8, 16, 32}) {
    for (const auto& [k, v] : {std::pair{16, 16}, {24, 16}, {16, 32}}) {
      for (const uint32_t shuffle : {0u, ATTNPLAN_KV_SHUFFLE}) {
        for (const attnplan_layout layout :
             {ATTNPLAN_LAYOUT_LBNHC, ATTNPLAN_LAYOUT_LBHNC, ATTNPLAN_LAYOUT_LHBNC,
              ATTNPLAN_LAYOUT_BLHNC, ATTNPLAN_LAYOUT_BLNHC, ATTNPLAN_LAYOUT_BHLNC}) {
          cases.push_back({layout, shuffle, page, 3, k, v, 0});
          cases.push_back({layout, shuffle, page, 3, k, v, 3 * kBlockTokens * 100});
          if (layout == ATTNPLAN_LAYOUT_LHBNC) continue;
          cases.push_back({layout, shuffle | ATTNPLAN_KV_PACKED, page, 3, k, v, 0});
        }
      }
    }
  }
  return cases;
}

template <typename Visit>
void visit(const KvLayout& layout, const TensorLayout& tensor, int32_t heads, int32_t row,
           const Visit& found) {
  for (int64_t block = 0; block < kBlocks; ++block) {
    for (int64_t token = 0; token < kBlockTokens; ++token) {
      const int64_t page = layout.page_id(block, token / layout.page_size);
      for (int32_t head = 0; head < heads; ++head) {
        const int64_t base = layout.row_address(tensor, page, head, token % layout.page_size);
        for (int32_t e = 0; e < row; ++e) {
          found(block, token, head, e, base + tensor.element_offset(e));
        }
      }
    }
  }
}

TEST(KvLayout, NoTwoElementsShareAnAddressAndKNeverMeetsV) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE("layout " + std::to_string(c.layout) + " flags " + std::to_string(c.flags) +
                 " page " + std::to_string(c.page_size) + " stride " +
                 std::to_string(c.block_stride));
    const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
    std::set<int64_t> addresses;
    int64_t elements = 0;
    const auto found = [&](int64_t, int64_t, int32_t, int32_t, int64_t address) {
      ASSERT_GE(address, 0);
      addresses.insert(address);
      ++elements;
    };
    visit(layout, layout.k, c.heads, c.head_size, found);
    visit(layout, layout.v, c.heads, c.v_head_size, found);
    EXPECT_EQ(static_cast<int64_t>(addresses.size()), elements);
    if (c.block_stride == 0 && c.head_size == c.v_head_size) {
      EXPECT_EQ(*addresses.rbegin(), elements - 1) << "holes in a storage that needs none";
    }
  }
}

// Written out as the array they are, index by index.
TEST(KvLayout, TokenMajorIsAnArrayOfBlockTokenHeadElement) {
  const Case c{ATTNPLAN_LAYOUT_LBNHC, 0, 16, 3, 24, 16, 0};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  visit(layout, layout.k, 3, 24, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    ASSERT_EQ(at, ((b * kBlockTokens + t) * 3 + h) * 24 + e);
  });
}

TEST(KvLayout, HeadMajorIsAnArrayOfPageHeadTokenElement) {
  const Case c{ATTNPLAN_LAYOUT_LBHNC, 0, 16, 3, 24, 16, 0};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  visit(layout, layout.v, 3, 16, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    const int64_t page = b * 2 + t / 16;
    ASSERT_EQ(at, 5 * 32 * 3 * 24 + ((page * 3 + h) * 16 + t % 16) * 16 + e);
  });
}

TEST(KvLayout, PlanesAreAnArrayOfSlotBlockTokenElementWithVBehindK) {
  const Case c{ATTNPLAN_LAYOUT_LHBNC, 0, 16, 3, 16, 16, 0};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  const auto plane = [](int64_t slot, int64_t b, int64_t t, int32_t e) {
    return ((slot * kBlocks + b) * kBlockTokens + t) * 16 + e;
  };
  visit(layout, layout.k, 3, 16, [&](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    ASSERT_EQ(at, plane(h, b, t, e));
  });
  visit(layout, layout.v, 3, 16, [&](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    ASSERT_EQ(at, plane(3 + h, b, t, e));
  });
}

TEST(KvLayout, PackedBlocksHoldTheirKPagesAndThenTheirVPages) {
  const Case c{ATTNPLAN_LAYOUT_LBNHC, ATTNPLAN_KV_PACKED, 16, 3, 16, 16, 0};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  EXPECT_EQ(layout.block_page_stride, 4);
  EXPECT_EQ(layout.page_id(3, 1), 13);
  visit(layout, layout.k, 3, 16, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    ASSERT_EQ(at, ((b * 2 * kBlockTokens + t) * 3 + h) * 16 + e);
  });
  visit(layout, layout.v, 3, 16, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    ASSERT_EQ(at, (((b * 2 + 1) * kBlockTokens + t) * 3 + h) * 16 + e);
  });
}

TEST(KvLayout, ShuffledPagesFollowTheirShapes) {
  // 16-bit elements: x = 8. K page [H, D/x, page, x], V page [H, page/x, D, x].
  const Case c{ATTNPLAN_LAYOUT_LBNHC, ATTNPLAN_KV_SHUFFLE, 16, 3, 32, 32, 0};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  visit(layout, layout.k, 3, 32, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    const int64_t page = b * 2 + t / 16;
    ASSERT_EQ(at, (((page * 3 + h) * 4 + e / 8) * 16 + t % 16) * 8 + e % 8);
  });
  visit(layout, layout.v, 3, 32, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    const int64_t page = b * 2 + t / 16;
    const int64_t in_page = t % 16;
    ASSERT_EQ(at - 5 * 32 * 3 * 32,
              (((page * 3 + h) * 2 + in_page / 8) * 32 + e) * 8 + in_page % 8);
  });
}

TEST(KvLayout, AGivenBlockStrideLeavesRoomBetweenBlocks) {
  const Case c{ATTNPLAN_LAYOUT_BLHNC, 0, 0, 3, 16, 16, 10000};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  visit(layout, layout.k, 3, 16, [](int64_t b, int64_t t, int32_t h, int32_t e, int64_t at) {
    ASSERT_EQ(at, b * 10000 + (h * kBlockTokens + t) * 16 + e);
  });
}

TEST(KvLayout, LatentRowsHoldVAsAPrefixOfK) {
  const Case c{ATTNPLAN_LAYOUT_MLA, 0, 0, 1, 24, 16, 0};
  const KvLayout layout = make_layout(cache_of(c), shape_of(c), kBlocks);
  visit(layout, layout.v, 1, 16, [](int64_t b, int64_t t, int32_t, int32_t e, int64_t at) {
    ASSERT_EQ(at, (b * kBlockTokens + t) * 24 + e);
  });
}

}  // namespace
}  // namespace attnplan::cpu
