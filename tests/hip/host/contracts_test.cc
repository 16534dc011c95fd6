// What the contracts let through is what a launch takes: for every combination of what a layer can
// be, either the planner refuses with a reason, or each of its segments can be launched.
#include "hip/contracts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "hip/contract_table.h"
#include "hip/launch_check.h"
#include "layer_case.h"

namespace attnplan::hip_test {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[engine_() % values.size()];
  }
  bool percent(uint64_t chance) { return engine_() % 100 < chance; }

 private:
  std::mt19937_64 engine_;
};

// Mostly what there are kernels for, so that both outcomes are seen.
LayerCase draw(Dice* dice) {
  LayerCase layer;
  attnplan_hip_attention& a = layer.attention;
  layer.arch = dice->pick<const char*>({"gfx90a", "gfx942", "gfx950", "sm_90"});
  if (dice->percent(5)) layer.arch = "gfx1100";
  a.q_dtype = dice->pick<int32_t>({ATTNPLAN_DTYPE_BF16, ATTNPLAN_DTYPE_FP16});
  a.num_kv_heads = dice->pick({1, 2, 5});
  a.num_q_heads = a.num_kv_heads * dice->pick({1, 3, 8, 16});
  if (dice->percent(5)) a.num_q_heads = a.num_kv_heads * 17;
  a.head_size = dice->pick({64, 128, 192, 256});
  a.v_head_size = a.head_size == 192 ? 128 : a.head_size;
  if (dice->percent(10)) a.v_head_size = dice->pick({64, 128, 192, 96});
  if (dice->percent(5)) a.head_size = dice->pick({32, 96, 512});
  a.mask = dice->pick<int32_t>({ATTNPLAN_MASK_CAUSAL, ATTNPLAN_MASK_CAUSAL, ATTNPLAN_MASK_FULL});
  a.sliding_window = dice->pick({0, 0, 33});
  a.soft_cap = dice->pick({0.0f, 0.0f, 30.0f});
  if (dice->percent(20)) {
    a.top_k = 16;
    a.head_size = a.v_head_size = 128;
  }
  attnplan_kv_cache& c = layer.cache;
  c.layout = static_cast<int32_t>(dice->pick({0, 1, 2, 3, 4, 5, 6}));
  c.flags = (dice->percent(30) ? ATTNPLAN_KV_PACKED : 0) |
            (dice->percent(40) ? ATTNPLAN_KV_SHUFFLE : 0) |
            (dice->percent(20) ? ATTNPLAN_KV_TYPED : 0);
  c.block_size = dice->pick({16, 64, 128, 96, 100});
  if (a.top_k > 0 && dice->percent(80)) c.block_size = 128;
  c.page_size = dice->pick({0, 0, 16, 32, 128, 8});
  c.cache_dtype = static_cast<int32_t>(dice->pick({0, 1, 2, 3, 4, 5, 6}));
  if (a.q_dtype == ATTNPLAN_DTYPE_FP16 && dice->percent(50)) c.cache_dtype = ATTNPLAN_CACHE_FP16;
  c.scale = static_cast<int32_t>(dice->pick({0, 0, 1, 2, 3, 3, 4}));
  return layer;
}

::testing::AssertionResult launches(const LayerCase& layer, const LayerPlan& plan) {
  LaunchCase launch(layer, plan);
  for (int32_t i = 0; i < plan.header().num_segments; ++i) {
    launch.args.segment = i;
    hip::CheckedLaunch checked = {};
    Error error;
    Status status = hip::read_launch(&launch.args, &checked, &error);
    bool listed = false;
    if (status == Status::kOk && layer.attention.top_k > 0) {
      hip::SparseLaunch sparse = {};
      status = hip::check_sparse(checked, &sparse, &error);
      listed = std::count(std::begin(hip::kM3SparseLines), std::end(hip::kM3SparseLines),
                          sparse.kernel) == 1;
    } else if (status == Status::kOk) {
      hip::DenseLaunch dense = {};
      status = hip::check_dense(checked, &dense, &error);
      listed = std::count(std::begin(hip::kAttentionLines), std::end(hip::kAttentionLines),
                          dense.kernel) == 1;
    }
    if (status != Status::kOk) return ::testing::AssertionFailure() << error.message;
    if (!listed) return ::testing::AssertionFailure() << "no line for the kernel";
  }
  return ::testing::AssertionSuccess();
}

std::string words(const LayerCase& l) {
  const attnplan_hip_attention& a = l.attention;
  std::string text = l.arch;
  for (const int64_t value :
       {a.q_dtype, a.num_q_heads, a.num_kv_heads, a.head_size, a.v_head_size, a.mask,
        a.sliding_window, a.top_k, l.cache.layout, static_cast<int32_t>(l.cache.flags),
        l.cache.block_size, l.cache.page_size, l.cache.cache_dtype, l.cache.scale}) {
    text += " " + std::to_string(value);
  }
  return text;
}

TEST(HipContracts, WhatTheyAdmitCanBeLaunched) {
  Dice dice(7);
  int admitted = 0, sparse = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const LayerCase layer = draw(&dice);
    const LayerPlan plan(layer, nullptr);
    if (plan.status() != ATTNPLAN_OK) {
      ++refused;
      continue;
    }
    ++admitted;
    if (layer.attention.top_k > 0) ++sparse;
    ASSERT_TRUE(launches(layer, plan)) << words(layer);
  }
  EXPECT_GT(admitted, 600);
  EXPECT_GT(sparse, 50);
  EXPECT_GT(refused, 600);
}

// The other way round: a layer that a launch would take is not refused for what it is.
TEST(HipContracts, NothingThatCouldBeLaunchedIsRefused) {
  Dice dice(11);
  int compared = 0;
  for (int i = 0; i < 6000; ++i) {
    LayerCase layer = draw(&dice);
    layer.attention.kv_cache = &layer.cache;
    layer.attention.arch = layer.arch.c_str();
    hip::Layer read;
    Error error;
    const bool known = layer.arch != "gfx1100" &&
                       hip::read_layer(&layer.attention, &read, &error) == Status::kOk &&
                       hip::check_supported(read, &error) == Status::kOk &&
                       std::count(hip::kPageSizes.begin(), hip::kPageSizes.end(),
                                  hip::kernel_page_size(read)) == 1;
    if (!known) continue;
    ++compared;
    const LayerPlan plan(layer, nullptr);
    EXPECT_EQ(plan.status(), ATTNPLAN_OK) << words(layer) << ": " << plan.error().message;
  }
  EXPECT_GT(compared, 600);
}

// The profile knows the cache as its contracts do, and not the query: where that is of the cache's
// dtype, or the cache fp8, it admits the same.
TEST(HipContracts, TheProfileAdmitsTheSameLayers) {
  Dice dice(13);
  int both = 0;
  for (int i = 0; i < 4000; ++i) {
    LayerCase layer = draw(&dice);
    const bool wide = layer.cache.cache_dtype <= ATTNPLAN_CACHE_FP16;
    layer.attention.q_dtype =
        layer.cache.cache_dtype == ATTNPLAN_CACHE_FP16 ? ATTNPLAN_DTYPE_FP16 : ATTNPLAN_DTYPE_BF16;
    // That a 16-bit cache has no scales of tokens is more than a contract for all caches can say.
    if (wide && layer.cache.scale == ATTNPLAN_SCALE_TOKEN_HEAD) continue;
    const LayerPlan own(layer, nullptr);
    const LayerPlan profile(layer, layer.attention.top_k > 0 ? "hip_m3" : "hip");
    ASSERT_EQ(own.status(), profile.status())
        << words(layer) << ": " << own.error().message << profile.error().message;
    if (own.status() == ATTNPLAN_OK) ++both;
  }
  EXPECT_GT(both, 400);
}

TEST(HipContracts, AreOfTheLayer) {
  LayerCase layer;
  layer.attention.head_size = 192;
  layer.attention.v_head_size = 128;
  hip::Layer read;
  Error error;
  ASSERT_EQ(hip::read_layer(&layer.attention, &read, &error), Status::kOk);
  const hip::ContractList list = hip::layer_contracts(read);
  ASSERT_EQ(list.count, 3u);
  EXPECT_STREQ(list.contracts[0]->name, "paged_decode");
  EXPECT_STREQ(list.contracts[1]->name, "paged_extend");
  EXPECT_STREQ(list.contracts[2]->name, "paged_prefill");
  EXPECT_EQ(list.contracts[0]->max_query_len, 16);
  EXPECT_EQ(list.contracts[1]->max_query_len, 0);
  for (size_t i = 0; i < list.count; ++i) {
    const attnplan_contract& c = *list.contracts[i];
    EXPECT_EQ(c.flags & ATTNPLAN_CONTRACT_UNIFORM, 0u);
    EXPECT_EQ(c.graph, ATTNPLAN_CAPTURE_ALWAYS);
    EXPECT_EQ(c.query_tile, 64);
    EXPECT_EQ(c.kv_tile, 128);
    ASSERT_EQ(c.head_sizes.count, 1u);
    EXPECT_EQ(c.head_sizes.data[0], 192);
    EXPECT_EQ(c.v_head_sizes.data[0], 128);
    EXPECT_NE(c.dtypes & 1u << ATTNPLAN_DTYPE_BF16, 0u);
    EXPECT_EQ(c.dtypes & 1u << ATTNPLAN_DTYPE_FP16, 0u);
    EXPECT_NE(c.dtypes & 1u << ATTNPLAN_DTYPE_E4M3FN, 0u);
    EXPECT_EQ(c.dtypes & 1u << ATTNPLAN_DTYPE_E5M2FNUZ, 0u);
  }
}

}  // namespace
}  // namespace attnplan::hip_test
