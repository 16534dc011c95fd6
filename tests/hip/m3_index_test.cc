// Block scores and selection of MiniMax-M3 on simulated devices against src/cpu.
#include "hip/m3_index.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cpu/m3_select.h"
#include "cpu/oracle.h"
#include "hip/m3_batch.h"
#include "hip/m3_select.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kHeadSize = 128;
constexpr int32_t kUntouched = 0x5a5a5a5a;
constexpr float kScale = 0.08838834764831845f;  // 128^-0.5

// Workspace and outputs of one step, poisoned.
struct IndexStep {
  IndexStep(const M3Batch& batch_, Cache format, bool bf16_, int32_t heads_, bool exact,
            const cpu::M3Params& params_, property::Dice* dice)
      : batch(batch_),
        cache(batch_, format, 1, kHeadSize, M3Cache::Form::kPlain, exact, dice),
        bf16(bf16_),
        heads(heads_),
        params(params_),
        queries(draw_queries(static_cast<size_t>(batch_.num_rows()) * heads_ * kHeadSize, bf16_,
                             exact, dice)) {
    for (const int32_t length : batch.seq_lens) {
      max_blocks = std::max(max_blocks, (length + kM3BlockKeys - 1) / kM3BlockKeys);
    }
    scores.assign(static_cast<size_t>(heads * batch.num_rows() * max_blocks), NAN);
    selected.assign(static_cast<size_t>(heads * batch.all_rows() * params.top_k), kUntouched);
    table.assign(static_cast<size_t>(heads * batch.all_rows() * params.top_k * 8), kUntouched);
    context.assign(static_cast<size_t>(heads * batch.all_rows()), kUntouched);
  }

  M3IndexArgs args() {
    M3IndexArgs args = {};
    batch.fill(&args.index);
    args.index.q = queries.data();
    args.index.q_row_stride = heads * kHeadSize;
    args.index.q_head_stride = kHeadSize;
    args.index.k = cache.tensor();
    args.index.num_kv_heads = 1;
    args.index.group = heads;
    args.index.q_is_bf16 = bf16;
    args.index.scale_log2 = kScale;
    args.row_request = batch.row_request.data();
    args.row_position = batch.row_position.data();
    args.scores = scores.data();
    args.scores_head_stride = batch.num_rows() * max_blocks;
    args.max_blocks = max_blocks;
    args.top_k = params.top_k;
    args.init_blocks = params.init_blocks;
    args.local_blocks = params.local_blocks;
    args.selected = selected.data();
    args.selected_head_stride = batch.all_rows() * params.top_k;
    args.sparse_table = table.data();
    args.sparse_context = context.data();
    return args;
  }

  template <class Arch, Cache kCache, int kTiles>
  void run(uint64_t seed) {
    const auto options = simt::options_for<Arch>(seed);
    const M3IndexArgs all = args();
    const int threads = kM3IndexWaves * Arch::kWave;
    using Traits = M3IndexTraits<Arch, kCache, kHeadSize, kTiles>;
    simt::launch(options, 1 + static_cast<int>(seed % 5), threads,
                 [&] { m3_index_scores<Traits>(all); });
    simt::launch(options, 1 + static_cast<int>(seed % 3), threads,
                 [&] { m3_index_select<Arch>(all); });
  }

  const float* row_scores(int32_t row, int32_t head) const {
    return &scores[static_cast<size_t>((head * batch.num_rows() + row) * max_blocks)];
  }
  std::vector<int32_t> row_blocks(int32_t row, int32_t head) const {
    const auto* from =
        &selected[static_cast<size_t>((head * batch.all_rows() + row) * params.top_k)];
    return {from, from + params.top_k};
  }
  std::vector<double> query(int32_t row, int32_t head) const {
    std::vector<double> query;
    for (int32_t e = 0; e < kHeadSize; ++e) {
      const uint16_t code = queries[static_cast<size_t>((row * heads + head) * kHeadSize + e)];
      query.push_back(decode(bf16 ? Cache::kBf16 : Cache::kFp16, code));
    }
    return query;
  }

  const M3Batch& batch;
  M3Cache cache;
  bool bf16;
  int32_t heads;
  cpu::M3Params params;
  std::vector<uint16_t> queries;
  int32_t max_blocks = 1;
  std::vector<float> scores;
  std::vector<int32_t> selected, table, context;
};

// What rows of other segments got: nothing.
void expect_untouched(const IndexStep& step, int32_t rows) {
  for (int32_t row = 0; row < rows; ++row) {
    for (int32_t head = 0; head < step.heads; ++head) {
      for (int32_t block = 0; block < step.max_blocks; ++block) {
        ASSERT_TRUE(std::isnan(step.row_scores(row, head)[block]));
      }
      for (const int32_t block : step.row_blocks(row, head)) ASSERT_EQ(block, kUntouched);
      ASSERT_EQ(step.context[static_cast<size_t>(row * step.heads + head)], kUntouched);
    }
  }
}

// Rows that a graph adds attend nothing.
void expect_graph_rows(const IndexStep& step) {
  const auto entries = static_cast<size_t>(step.params.top_k) * 8;
  for (int32_t row = step.batch.num_rows(); row < step.batch.all_rows(); ++row) {
    for (int32_t head = 0; head < step.heads; ++head) {
      for (const int32_t block : step.row_blocks(row, head)) ASSERT_EQ(block, -1);
      const auto unit = static_cast<size_t>(row * step.heads + head);
      ASSERT_EQ(step.context[unit], 0);
      const auto* table = &step.table[unit * entries];
      ASSERT_EQ(std::vector<int32_t>(table, table + entries), std::vector<int32_t>(entries));
    }
  }
}

void expect_scores(const IndexStep& step, int32_t row, int32_t head, bool exact,
                   const std::vector<double>& expected) {
  for (size_t block = 0; block < expected.size(); ++block) {
    const float score = step.row_scores(row, head)[block];
    if (std::isnan(expected[block])) {
      ASSERT_TRUE(std::isnan(score)) << "row " << row << ", block " << block;
    } else {
      // Sums of exact products differ by the scale's rounding alone.
      const double tolerance = exact ? 1e-6 * std::fabs(expected[block]) : 1e-3;
      ASSERT_NEAR(score, expected[block], tolerance) << "row " << row << ", block " << block;
    }
  }
}

// Pages of 16 tokens and their tokens, from the selected blocks.
void expect_pages(const IndexStep& step, int32_t row, int32_t head) {
  const int32_t position = step.batch.row_position[row];
  const size_t unit = static_cast<size_t>(row * step.heads + head);
  std::vector<int32_t> pages;
  int32_t tokens = 0;
  for (const bool own : {false, true}) {
    for (const int32_t block : step.row_blocks(row, head)) {
      if (block < 0 || own != (block == position / kM3BlockKeys)) continue;
      for (int32_t token = block * kM3BlockKeys;
           token < (block + 1) * kM3BlockKeys && token <= position; ++token, ++tokens) {
        if (token % 16 != 0) continue;
        const int64_t page = step.batch.page_of(step.batch.row_request[row], token);
        const int64_t page16 = (page * step.batch.page_size + token % step.batch.page_size) / 16;
        pages.push_back(static_cast<int32_t>(page16 * step.heads + head));
      }
    }
  }
  pages.resize(static_cast<size_t>(step.params.top_k * 8), 0);
  ASSERT_EQ(step.context[unit], tokens) << "row " << row;
  const auto* table = &step.table[unit * pages.size()];
  ASSERT_EQ(std::vector<int32_t>(table, table + pages.size()), pages) << "row " << row;
}

void check_step(const IndexStep& step, bool exact) {
  expect_untouched(step, step.batch.segment.row_begin);
  expect_graph_rows(step);
  for (int32_t request = step.batch.segment.req_begin; request < step.batch.num_requests();
       ++request) {
    const std::vector<double> keys = step.cache.rows(step.batch, request, 0);
    const int32_t first = step.batch.segment.req_begin;
    for (int32_t row = step.batch.segment.row_begin + step.batch.starts[request - first];
         row < step.batch.segment.row_begin + step.batch.starts[request - first + 1]; ++row) {
      const int32_t position = step.batch.row_position[row];
      for (int32_t head = 0; head < step.heads; ++head) {
        std::vector<int32_t> expected(static_cast<size_t>(step.params.top_k), -1);
        if (position >= 0) {
          const std::vector<double> query = step.query(row, head);
          const std::vector<cpu::IndexQuery> rows = {{query.data(), position}};
          const cpu::RowsView view = {keys.data(), kHeadSize};
          const auto scores = cpu::m3_block_scores(step.params, rows, view)[0];
          expect_scores(step, row, head, exact, scores);
          // In floats where nothing is exact: the order of what the scores were found to be.
          const float* found = step.row_scores(row, head);
          expected = exact ? cpu::oracle_m3_blocks(step.params, query.data(), view, position)
                           : cpu::m3_select(step.params,
                                            std::vector<double>(found, found + scores.size()));
        }
        ASSERT_EQ(step.row_blocks(row, head), expected) << "row " << row << ", head " << head;
        expect_pages(step, row, head);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

template <class Arch, Cache kCache, int kTiles>
void check(bool exact, uint64_t seeds) {
  for (uint64_t round = 1; round <= seeds; ++round) {
    const uint64_t seed = 100 * Arch::kWave + 10 * static_cast<uint64_t>(kCache) + round;
    property::Dice dice(seed);
    const int32_t page_size = dice.pick({16, 64, 128});
    const int32_t heads = dice.pick({1, 1, 2, 4});
    const M3Batch batch(dice.in32(1, 5), 1 + 40 / heads, dice.pick({130, 700}), page_size, &dice);
    cpu::M3Params params;
    params.top_k = dice.pick({1, 3, 4, 16});
    params.init_blocks = dice.in32(0, 1);
    params.local_blocks = dice.in32(0, 2);
    const bool bf16 = is_fp8(kCache) ? dice.percent(50) : kCache == Cache::kBf16;
    IndexStep step(batch, kCache, bf16, heads, exact, params, &dice);
    if (exact && dice.percent(50)) {  // keys that are no numbers
      for (int i = 0; i < 3 && !batch.page_indices.empty(); ++i) {
        const uint32_t nan = kCache == Cache::kE4m3fnuz ? 0x80 : is_fp8(kCache) ? 0x7f : 0x7fff;
        step.cache.set(dice.pick(batch.page_indices), 0, dice.in32(0, page_size - 1),
                       dice.in32(0, kHeadSize - 1), nan);
      }
    }
    step.run<Arch, kCache, kTiles>(seed);
    check_step(step, exact);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

template <class Arch>
class M3Index : public testing::Test {};
using Architectures = testing::Types<Gfx90a, Gfx942, Gfx950, Sm90>;
TYPED_TEST_SUITE(M3Index, Architectures);

TYPED_TEST(M3Index, SelectsTheBlocksOfTheOracle) {
  check<TypeParam, Cache::kBf16, 1>(true, 4);
  check<TypeParam, Cache::kFp16, 1>(true, 4);
  check<TypeParam, Cache::kE4m3fn, 1>(true, 4);
  check<TypeParam, Cache::kE4m3fnuz, 1>(true, 4);
  check<TypeParam, Cache::kE5m2, 1>(true, 4);
}
TYPED_TEST(M3Index, SelectsTheSameByLongerTiles) {
  check<TypeParam, Cache::kBf16, 2>(true, 3);
  check<TypeParam, Cache::kE4m3fn, 2>(true, 3);
}
TYPED_TEST(M3Index, ScoresAreThoseOfFloat64) {
  check<TypeParam, Cache::kBf16, 1>(false, 3);
  check<TypeParam, Cache::kFp16, 1>(false, 3);
  check<TypeParam, Cache::kE4m3fn, 1>(false, 3);
}

// Scores of contexts that no lane and no wave sees at once; many of them equal.
TYPED_TEST(M3Index, RanksAsTheExecutorDoes) {
  constexpr int32_t kHeads = 2;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    property::Dice dice(seed);
    M3Batch batch(3, 3, 16, 16, &dice);
    cpu::M3Params params;
    params.top_k = dice.pick({1, 16, 31, 32});
    params.init_blocks = dice.in32(0, 3);
    params.local_blocks = dice.in32(0, 3);
    IndexStep step(batch, Cache::kBf16, true, kHeads, true, params, &dice);
    for (int32_t& position : batch.row_position) {
      if (position >= 0) position = dice.in32(0, dice.pick({600, 40000, 600000}));
    }
    step.max_blocks = 600000 / kM3BlockKeys + 1;
    step.scores.resize(static_cast<size_t>(kHeads * batch.num_rows() * step.max_blocks));
    const int32_t levels = dice.pick({3, 1000000});
    for (float& score : step.scores) {
      score = static_cast<float>(dice.in(-levels, levels)) / 8;
      if (dice.percent(5)) score = dice.pick({NAN, -NAN, INFINITY, -INFINITY, -0.0f, 1e-40f});
    }
    M3IndexArgs args = step.args();
    args.sparse_table = nullptr;
    simt::launch(simt::options_for<TypeParam>(seed), 3, kM3IndexWaves * TypeParam::kWave,
                 [&] { m3_index_select<TypeParam>(args); });
    for (int32_t row = batch.segment.row_begin; row < batch.segment.row_end; ++row) {
      for (int32_t head = 0; head < kHeads; ++head) {
        const int32_t live =
            batch.row_position[row] < 0 ? 0 : batch.row_position[row] / kM3BlockKeys + 1;
        const float* scores = step.row_scores(row, head);
        ASSERT_EQ(step.row_blocks(row, head),
                  cpu::m3_select(params, std::vector<double>(scores, scores + live)))
            << "seed " << seed << ", row " << row;
      }
    }
  }
}

// A captured launch whose segment the plan of the replay does not have.
TYPED_TEST(M3Index, WithoutItsSegmentTakesTheRowsOfTheGraphAlone) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    property::Dice dice(seed);
    M3Batch batch(3, 5, 300, 16, &dice);
    batch.header.num_segments = 0;
    batch.header.graph_kind = ATTNPLAN_GRAPH_FULL;
    batch.header.graph_rows = batch.num_rows() + 7;
    IndexStep step(batch, Cache::kBf16, true, 2, true, {}, &dice);
    step.run<TypeParam, Cache::kBf16, 1>(seed);
    expect_untouched(step, batch.num_rows());
    expect_graph_rows(step);
  }
}

// Many requests, more than a wave has lanes.
TYPED_TEST(M3Index, ManyShortRequests) {
  property::Dice dice(9);
  const M3Batch batch(150, 2, 40, 16, &dice);
  IndexStep step(batch, Cache::kBf16, true, 1, true, {}, &dice);
  step.run<TypeParam, Cache::kBf16, 1>(2);
  check_step(step, true);
}

}  // namespace
}  // namespace attnplan::hip
