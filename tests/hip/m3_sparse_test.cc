// Attention over selected blocks, whole and in splits, on simulated devices against the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cpu/oracle.h"
#include "hip/m3_batch.h"
#include "hip/m3_merge.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kHeadSize = 128;
constexpr int32_t kTopK = 5;
constexpr uint16_t kUntouched = 0x7fff;  // NaN

struct SparseStep {
  SparseStep(const M3Batch& batch_, Cache format, bool shuffle, bool bf16_, int32_t kv_heads_,
             int32_t group_, int32_t splits_, property::Dice* dice)
      : batch(batch_),
        k(batch_, format, kv_heads_, kHeadSize,
          shuffle ? M3Cache::Form::kShuffledKeys : M3Cache::Form::kPlain, false, dice),
        v(batch_, format, kv_heads_, kHeadSize,
          shuffle ? M3Cache::Form::kShuffledValues : M3Cache::Form::kPlain, false, dice),
        bf16(bf16_),
        kv_heads(kv_heads_),
        group(group_),
        splits(splits_),
        k_scale(is_fp8(format) ? 0.75f : 1.0f),
        v_scale(is_fp8(format) ? 1.5f : 1.0f),
        queries(draw_queries(rows_size(), bf16_, false, dice)),
        out(rows_size() + graph_size(), kUntouched),
        lse(out.size() / kHeadSize, NAN) {
    draw_selection(dice);
    const int32_t units = (batch.segment.row_end - batch.segment.row_begin) * kv_heads;
    slots = units * splits + dice->in32(0, std::max(units - 1, 0));
    partial_out.assign(static_cast<size_t>(slots * group * kHeadSize), NAN);
    partial_lse.assign(static_cast<size_t>(slots * group), NAN);
  }

  size_t rows_size() const {
    return static_cast<size_t>(batch.num_rows()) * kv_heads * group * kHeadSize;
  }

  size_t graph_size() const {
    return static_cast<size_t>(batch.all_rows() - batch.num_rows()) * kv_heads * group * kHeadSize;
  }

  // Any of the live blocks, mostly the row's own among them, in any order.
  void draw_selection(property::Dice* dice) {
    for (int32_t head = 0; head < kv_heads; ++head) {
      for (const int32_t position : batch.row_position) {
        std::vector<int32_t> live;
        for (int32_t b = 0; position >= 0 && b <= position / kM3BlockKeys; ++b) live.push_back(b);
        for (size_t i = live.size(); i > 1; --i) std::swap(live[i - 1], live[dice->next() % i]);
        live.resize(std::min<size_t>(live.size(), static_cast<size_t>(dice->in(1, kTopK))));
        live.resize(kTopK, -1);
        selected.insert(selected.end(), live.begin(), live.end());
      }
    }
  }

  M3SparseArgs args() {
    M3SparseArgs args = {};
    AttentionArgs& attention = args.attention;
    batch.fill(&attention);
    attention.q = queries.data();
    attention.out = out.data();
    attention.lse = lse.data();
    attention.q_row_stride = attention.out_row_stride = kv_heads * group * kHeadSize;
    attention.q_head_stride = attention.out_head_stride = kHeadSize;
    attention.lse_row_stride = kv_heads * group;
    attention.k = k.tensor();
    attention.v = v.tensor();
    attention.partial_out = partial_out.data();
    attention.partial_lse = partial_lse.data();
    attention.num_kv_heads = kv_heads;
    attention.group = group;
    attention.query_tile = group;
    attention.q_is_bf16 = bf16;
    attention.scale_log2 = k_scale * 1.4426950408889634f / std::sqrt(float{kHeadSize});
    attention.v_scale = v_scale;
    attention.selected = selected.data();
    attention.selected_head_stride = batch.num_rows() * kTopK;
    attention.top_k = kTopK;
    args.row_request = batch.row_request.data();
    args.row_position = batch.row_position.data();
    args.slots = slots;
    args.v_head_size = kHeadSize;
    return args;
  }

  const M3Batch& batch;
  M3Cache k, v;
  bool bf16;
  int32_t kv_heads, group, splits;
  int32_t slots;
  float k_scale, v_scale;
  std::vector<uint16_t> queries, out;
  std::vector<float> lse;
  std::vector<float> partial_out, partial_lse;
  std::vector<int32_t> selected;
};

struct Expected {
  std::vector<double> out = std::vector<double>(kHeadSize, 0.0);
  double lse = -INFINITY;
};

// `keys` and `values` of the row's request and KV head.
Expected expect_row(const SparseStep& step, int32_t row, int32_t head,
                    const std::vector<double>& keys, const std::vector<double>& values) {
  Expected expected;
  const int32_t position = step.batch.row_position[row];
  if (position < 0) return expected;
  std::vector<int64_t> visible;
  for (int64_t key = 0; key <= position; ++key) visible.push_back(key);
  const int32_t kv_head = head / step.group;
  const auto* blocks =
      &step.selected[static_cast<size_t>((kv_head * step.batch.num_rows() + row) * kTopK)];
  const auto listed = cpu::oracle_m3_keys({}, {blocks, kTopK}, visible);
  std::vector<double> query;
  const int32_t heads = step.kv_heads * step.group;
  for (int32_t e = 0; e < kHeadSize; ++e) {
    const uint16_t code = step.queries[static_cast<size_t>((row * heads + head) * kHeadSize + e)];
    query.push_back(decode(step.bf16 ? Cache::kBf16 : Cache::kFp16, code) * step.k_scale);
  }
  cpu::AttentionShape shape;
  shape.head_size = shape.v_head_size = kHeadSize;
  expected.lse = cpu::oracle_attend(shape, query.data(), {keys.data(), kHeadSize},
                                    {values.data(), kHeadSize}, listed, expected.out);
  for (double& value : expected.out) value *= step.v_scale;
  return expected;
}

void compare_row(const SparseStep& step, int32_t row, int32_t head, const Expected& expected) {
  const int32_t heads = step.kv_heads * step.group;
  double largest = 0, error = 0;
  for (int32_t e = 0; e < kHeadSize; ++e) {
    const uint16_t code = step.out[static_cast<size_t>((row * heads + head) * kHeadSize + e)];
    const double value = decode(step.bf16 ? Cache::kBf16 : Cache::kFp16, code);
    ASSERT_FALSE(std::isnan(value)) << "row " << row << ", head " << head << ", element " << e;
    largest = std::fmax(largest, std::fabs(expected.out[static_cast<size_t>(e)]));
    error = std::fmax(error, std::fabs(value - expected.out[static_cast<size_t>(e)]));
  }
  const bool fine = step.k.format == Cache::kFp16;
  ASSERT_LE(error, largest * (fine ? 2e-3 : 2e-2)) << "row " << row << ", head " << head;
  const float lse = step.lse[static_cast<size_t>(row * heads + head)];
  if (std::isinf(expected.lse)) {
    ASSERT_EQ(lse, expected.lse);
  } else {
    ASSERT_NEAR(lse, expected.lse, fine ? 1e-3 : 1e-2) << "row " << row << ", head " << head;
  }
}

// The first rows are those of other segments, rows that a graph adds attend nothing.
void expect_other_rows(const SparseStep& step, int32_t untouched) {
  const auto heads = static_cast<size_t>(step.kv_heads * step.group);
  for (size_t i = 0; i < static_cast<size_t>(untouched) * heads; ++i) {
    ASSERT_EQ(step.out[i * kHeadSize], kUntouched);
    ASSERT_TRUE(std::isnan(step.lse[i]));
  }
  for (size_t i = step.rows_size(); i < step.out.size(); ++i) ASSERT_EQ(step.out[i], 0);
  for (size_t i = step.rows_size() / kHeadSize; i < step.lse.size(); ++i) {
    ASSERT_EQ(step.lse[i], -INFINITY);
  }
}

void check_step(const SparseStep& step) {
  const M3Batch& batch = step.batch;
  expect_other_rows(step, batch.segment.row_begin);
  for (int32_t request = batch.segment.req_begin; request < batch.num_requests(); ++request) {
    const int32_t at = request - batch.segment.req_begin;
    for (int32_t kv_head = 0; kv_head < step.kv_heads; ++kv_head) {
      const std::vector<double> keys = step.k.rows(batch, request, kv_head);
      const std::vector<double> values = step.v.rows(batch, request, kv_head);
      for (int32_t row = batch.segment.row_begin + batch.starts[at];
           row < batch.segment.row_begin + batch.starts[at + 1]; ++row) {
        for (int32_t head = kv_head * step.group; head < (kv_head + 1) * step.group; ++head) {
          compare_row(step, row, head, expect_row(step, row, head, keys, values));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

template <class Arch, Cache kCache, bool kShuffle>
void check() {
  for (uint64_t round = 1; round <= 3; ++round) {
    const uint64_t seed =
        1000 * Arch::kWave + 100 * kShuffle + 10 * static_cast<uint64_t>(kCache) + round;
    property::Dice dice(seed);
    const M3Batch batch(dice.in32(1, 3), 3, 700, dice.pick({16, 32, 128}), &dice);
    const bool bf16 = is_fp8(kCache) ? dice.percent(50) : kCache == Cache::kBf16;
    SparseStep step(batch, kCache, kShuffle, bf16, dice.in32(1, 2), dice.pick({1, 4, 16, 20}),
                    round == 1 ? 1 : dice.in32(2, kTopK), &dice);
    const M3SparseArgs args = step.args();
    const auto options = simt::options_for<Arch>(seed);
    simt::launch(options, dice.in32(1, 4), kAttentionWaves * Arch::kWave, [&] {
      m3_sparse<AttentionTraits<Arch, kCache, kHeadSize, kHeadSize, kShuffle, 1>>(args);
    });
    simt::launch(options, dice.in32(1, 4), kM3MergeThreads, [&] { m3_merge<Arch>(args); });
    check_step(step);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

template <class Arch>
class M3SparseAttention : public testing::Test {};
using Architectures = testing::Types<Gfx90a, Gfx942, Gfx950, Sm90>;
TYPED_TEST_SUITE(M3SparseAttention, Architectures);

TYPED_TEST(M3SparseAttention, IsThatOfTheOracleOnPlainPages) {
  check<TypeParam, Cache::kBf16, false>();
  check<TypeParam, Cache::kFp16, false>();
  check<TypeParam, Cache::kE4m3fn, false>();
  check<TypeParam, Cache::kE4m3fnuz, false>();
  check<TypeParam, Cache::kE5m2, false>();
}
TYPED_TEST(M3SparseAttention, IsThatOfTheOracleOnShuffledPages) {
  check<TypeParam, Cache::kBf16, true>();
  check<TypeParam, Cache::kFp16, true>();
  check<TypeParam, Cache::kE4m3fn, true>();
  check<TypeParam, Cache::kE4m3fnuz, true>();
  check<TypeParam, Cache::kE5m2, true>();
}

// A captured launch whose segment the plan of the replay does not have.
TYPED_TEST(M3SparseAttention, WithoutItsSegmentTakesTheRowsOfTheGraphAlone) {
  using Traits = AttentionTraits<TypeParam, Cache::kBf16, kHeadSize, kHeadSize, false, 1>;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    property::Dice dice(seed);
    M3Batch batch(3, 3, 300, 16, &dice);
    batch.header.num_segments = 0;
    batch.header.graph_kind = ATTNPLAN_GRAPH_FULL;
    batch.header.graph_rows = batch.num_rows() + 7;
    SparseStep step(batch, Cache::kBf16, false, true, 2, 4, seed % 2 == 0 ? 1 : 3, &dice);
    const M3SparseArgs args = step.args();
    const auto options = simt::options_for<TypeParam>(seed);
    simt::launch(options, 2, kAttentionWaves * TypeParam::kWave, [&] { m3_sparse<Traits>(args); });
    simt::launch(options, 2, kM3MergeThreads, [&] { m3_merge<TypeParam>(args); });
    expect_other_rows(step, batch.num_rows());
  }
}

TEST(M3Splits, FillTheDeviceWithoutIdleParts) {
  EXPECT_EQ(m3_splits(64, 1, 16, 264), 4);
  EXPECT_EQ(m3_splits(1, 1, 16, 264), 16);
  EXPECT_EQ(m3_splits(300, 1, 16, 264), 1);
  EXPECT_EQ(m3_splits(0, 1, 16, 264), 1);
}

}  // namespace
}  // namespace attnplan::hip
