// Plans that are right for their batch: the executor must agree with the oracle on every row.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cpu/run.h"
#include "plan_builder.h"

namespace attnplan::cpu {
namespace {

attnplan_config config_of(int32_t q_heads, int32_t kv_heads, int32_t head_size,
                          int32_t v_head_size = 0) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "aiter_mha";
  config.num_q_heads = q_heads;
  config.num_kv_heads = kv_heads;
  config.head_size = head_size;
  config.v_head_size = v_head_size;
  return config;
}

RunReport run_plan(const attnplan_config& config, const Batch& batch, PlanBuilder plan,
                   const attnplan_group* group = nullptr, const RunOptions& options = {}) {
  const attnplan_step step = batch.step();
  const auto blob = plan.blob();
  return run(config, step, group, blob.data(), blob.size(), options);
}

void expect_right(const RunReport& report) {
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.rows_written, report.rows);
  EXPECT_EQ(report.rows_compared, report.rows);
  EXPECT_EQ(report.rows_wrong, 0);
  EXPECT_LE(report.max_error, 1e-9) << "row " << report.worst_row;
  EXPECT_LE(report.max_lse_error, 1e-9) << "row " << report.worst_row;
  EXPECT_TRUE(report.ok);
}

// Two requests with four rows, one with context that a prefill kernel would take, one prompt.
const Batch kMixed{{4, 4, 37, 21}, {50, 61, 90, 21}};

PlanBuilder mixed_plan() {
  PlanBuilder plan(4, 66);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 2, 0, 8, 4);
  plan.segment(ATTNPLAN_ROUTE_EXTEND, 2, 3, 8, 45);
  plan.segment(ATTNPLAN_ROUTE_PREFILL, 3, 4, 45, 66);
  return plan;
}

TEST(Executor, UniformDecode) {
  for (const int32_t width : {1, 2, 4, 7}) {
    const Batch batch{{width, width, width}, {90, 33, width}};
    const RunReport report =
        run_plan(config_of(4, 2, 16), batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, width));
    expect_right(report);
    EXPECT_EQ(report.requests, 3);
    EXPECT_EQ(report.rows, 3 * width);
  }
}

TEST(Executor, RaggedExtendAndPrefillWithAndWithoutContext) {
  const Batch batch{{5, 1, 40, 3}, {64, 100, 40, 7}};
  for (const int32_t route : {ATTNPLAN_ROUTE_EXTEND, ATTNPLAN_ROUTE_PREFILL}) {
    expect_right(run_plan(config_of(4, 2, 16), batch, one_segment(batch, route)));
  }
}

TEST(Executor, ThreeRoutesInOneStep) {
  expect_right(run_plan(config_of(4, 2, 16), kMixed, mixed_plan()));
}

TEST(Executor, GroupsAndHeadSizes) {
  for (const auto& [q, kv] : {std::pair{1, 1}, {8, 1}, {6, 3}, {4, 4}}) {
    for (const auto& [k, v] : {std::pair{16, 16}, {24, 16}, {8, 32}}) {
      SCOPED_TRACE(std::to_string(q) + "/" + std::to_string(kv) + " heads of " + std::to_string(k) +
                   "/" + std::to_string(v));
      const RunReport report = run_plan(config_of(q, kv, k, v), kMixed, mixed_plan());
      expect_right(report);
      EXPECT_EQ(report.shape.v_head_size, v);
    }
  }
}

TEST(Executor, SlidingWindowsAndFullMask) {
  for (const attnplan_mask mask : {ATTNPLAN_MASK_CAUSAL, ATTNPLAN_MASK_FULL}) {
    for (const int32_t window : {0, 1, 16, 17, 60, 1000}) {
      SCOPED_TRACE("mask " + std::to_string(mask) + " window " + std::to_string(window));
      attnplan_config config = config_of(2, 1, 16);
      config.mask = mask;
      config.sliding_window = window;
      expect_right(run_plan(config, kMixed, mixed_plan()));
    }
  }
}

TEST(Executor, FullMaskWithMoreRowsThanKeys) {
  attnplan_config config = config_of(2, 1, 16);
  config.mask = ATTNPLAN_MASK_FULL;
  const Batch batch{{9, 4}, {5, 30}};
  expect_right(run_plan(config, batch, one_segment(batch, ATTNPLAN_ROUTE_EXTEND)));
}

struct CacheCase {
  attnplan_layout layout;
  uint32_t flags;
  int32_t block_size;
  int32_t page_size;
};

attnplan_kv_cache cache_of(const CacheCase& c) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = c.layout;
  cache.flags = c.flags;
  cache.num_blocks = 1000;
  cache.block_size = c.block_size;
  cache.page_size = c.page_size;
  return cache;
}

std::vector<CacheCase> cache_cases() {
  std::vector<CacheCase> cases;
  for (const auto& [block, page] : {std::pair{16, 0}, {32, 32}, {32, 8}, {24, 8}}) {
    for (const attnplan_layout layout :
         {ATTNPLAN_LAYOUT_LBNHC, ATTNPLAN_LAYOUT_LBHNC, ATTNPLAN_LAYOUT_LHBNC,
          ATTNPLAN_LAYOUT_BLHNC, ATTNPLAN_LAYOUT_BLNHC, ATTNPLAN_LAYOUT_BHLNC,
          ATTNPLAN_LAYOUT_MLA}) {
      for (const uint32_t flags : {0u, ATTNPLAN_KV_PACKED, ATTNPLAN_KV_SHUFFLE,
                                   ATTNPLAN_KV_PACKED | ATTNPLAN_KV_SHUFFLE}) {
        const bool planes = layout == ATTNPLAN_LAYOUT_LHBNC || layout == ATTNPLAN_LAYOUT_MLA;
        if (planes && (flags & ATTNPLAN_KV_PACKED) != 0) continue;
        cases.push_back({layout, flags, block, page});
      }
    }
  }
  return cases;
}

// Blocks 3, 10, 17, ... of the mixed batch, stale ids behind the live ones.
std::vector<int32_t> dense_ids(int32_t block_size, int32_t columns) {
  std::vector<int32_t> ids;
  int32_t next = 3;
  for (const int32_t seq_len : kMixed.seq_lens) {
    for (int32_t column = 0; column < columns; ++column) {
      const bool live = column * block_size < seq_len;
      ids.push_back(live ? (next += 7) % 1000 : 1'000'000'000);
    }
  }
  return ids;
}

TEST(Executor, ReadsEveryCacheLayoutThroughTheCallersBlockTable) {
  for (const CacheCase& c : cache_cases()) {
    SCOPED_TRACE("layout " + std::to_string(c.layout) + " flags " + std::to_string(c.flags) +
                 " block " + std::to_string(c.block_size) + " page " + std::to_string(c.page_size));
    const attnplan_kv_cache cache = cache_of(c);
    attnplan_config config = config_of(4, 2, 16, c.layout == ATTNPLAN_LAYOUT_MLA ? 8 : 24);
    config.kv_cache = &cache;
    const std::vector<int32_t> ids = dense_ids(c.block_size, 12);
    attnplan_group group = ATTNPLAN_GROUP_INIT;
    group.block_ids = ids.data();
    group.columns = 12;
    expect_right(run_plan(config, kMixed, mixed_plan(), &group));
    expect_right(run_plan(config, kMixed, mixed_plan()));  // and a table of its own
  }
}

TEST(Executor, TakesATableInCompressedRows) {
  const attnplan_kv_cache cache = cache_of({ATTNPLAN_LAYOUT_LBHNC, 0, 32, 16});
  attnplan_config config = config_of(4, 2, 16);
  config.kv_cache = &cache;
  const std::vector<int32_t> ids{9, 4, 700, 11, 2, 90, 91, 999};
  const std::vector<int32_t> indptr{0, 2, 4, 7, 8};
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = ids.data();
  group.block_indptr = indptr.data();
  expect_right(run_plan(config, kMixed, mixed_plan(), &group));
}

TEST(Executor, RequestsMayShareBlocks) {
  // A common prefix of one block, and a dummy table in which every block is block 0.
  const attnplan_kv_cache cache = cache_of({ATTNPLAN_LAYOUT_LBNHC, 0, 32, 0});
  attnplan_config config = config_of(4, 2, 16);
  config.kv_cache = &cache;
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.columns = 3;
  const std::vector<int32_t> prefix{7, 1, -1, 7, 2, -1, 7, 3, 4, 5, -1, -1};
  const std::vector<int32_t> dummy(12, 0);
  for (const auto& ids : {prefix, dummy}) {
    group.block_ids = ids.data();
    expect_right(run_plan(config, kMixed, mixed_plan(), &group));
  }
}

TEST(Executor, HonoursABlockStride) {
  attnplan_kv_cache cache = cache_of({ATTNPLAN_LAYOUT_BLHNC, 0, 16, 0});
  cache.block_stride = 4 * 16 * 2 * 16;  // four layers between two blocks
  attnplan_config config = config_of(4, 2, 16);
  config.kv_cache = &cache;
  expect_right(run_plan(config, kMixed, mixed_plan()));
}

TEST(Executor, SortedPlansReadTheBatchInTheirOrder) {
  const Batch batch{{21, 4, 37, 4}, {21, 50, 90, 61}};
  PlanBuilder plan = mixed_plan();
  plan.order({1, 3, 2, 0});
  const RunReport report = run_plan(config_of(4, 2, 16), batch, plan);
  expect_right(report);
}

TEST(Executor, PadsAroundAndBetweenRequests) {
  const Batch batch{{0, 2, 2, 0, 3, 0}, {0, 20, 30, 0, 40, 0}};
  PlanBuilder plan(6, 7);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 1, 3, 0, 4, 2);
  plan.segment(ATTNPLAN_ROUTE_EXTEND, 4, 5, 4, 7);
  const RunReport report = run_plan(config_of(4, 2, 16), batch, plan);
  expect_right(report);
  EXPECT_EQ(report.requests, 3);
  PlanBuilder one(6, 7);  // a kernel that takes offsets does not mind a pad in between
  one.segment(ATTNPLAN_ROUTE_EXTEND, 1, 5, 0, 7);
  expect_right(run_plan(config_of(4, 2, 16), batch, one));
}

TEST(Executor, RowsThatAFullGraphAddsComeOutAsZeros) {
  const Batch batch{{4, 4}, {50, 61}};
  PlanBuilder plan = one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4);
  plan.full_graph(16, 4, 4);
  const RunReport report = run_plan(config_of(4, 2, 16), batch, plan);
  expect_right(report);
  EXPECT_EQ(report.pad_rows, 8);

  PlanBuilder short_graph = one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4);
  short_graph.full_graph(16, 3, 4);  // nobody writes its last four rows
  const RunReport wrong = run_plan(config_of(4, 2, 16), batch, short_graph);
  EXPECT_FALSE(wrong.ok);
  EXPECT_TRUE(std::isinf(wrong.max_error));

  PlanBuilder twice = one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4);
  twice.full_graph(16, 4, 4).segment(ATTNPLAN_ROUTE_DECODE, 2, 2, 8, 8, 4);
  const RunReport rewritten = run_plan(config_of(4, 2, 16), batch, twice);
  EXPECT_EQ(rewritten.rows_written, 8);
  EXPECT_EQ(rewritten.rows_rewritten, 8);  // the rows of the graph
  EXPECT_FALSE(rewritten.ok);
}

// The graph's requests are counted from the first live one, over pads that the batch has itself.
TEST(Executor, AGraphOverABatchWithPads) {
  for (const auto& [query_lens, begin] :
       {std::pair{std::vector<int32_t>{4, 4, 0}, 0}, {{0, 4, 4}, 1}, {{0, 4, 4, 0, 0, 0, 0}, 1}}) {
    Batch batch{query_lens, {}};
    for (const int32_t rows : query_lens) batch.seq_lens.push_back(rows > 0 ? 50 : 0);
    const auto size = static_cast<int32_t>(query_lens.size());
    PlanBuilder plan(size, 8);
    plan.full_graph(16, 4, 4).segment(ATTNPLAN_ROUTE_DECODE, begin, begin + 2, 0, 8, 4);
    const RunReport report = run_plan(config_of(4, 2, 16), batch, plan);
    expect_right(report);
    EXPECT_EQ(report.pad_rows, 8);
  }
}

TEST(Executor, DraftRowsBehindTheBlockTableAreZeros) {
  // Two columns of 16 tokens: request 1 ends at position 32, its last two rows have no room.
  const attnplan_kv_cache cache = cache_of({ATTNPLAN_LAYOUT_LBNHC, 0, 16, 0});
  attnplan_config config = config_of(4, 2, 16);
  config.kv_cache = &cache;
  const Batch batch{{4, 4}, {20, 34}};
  const std::vector<int32_t> ids{1, 2, 3, 4};
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = ids.data();
  group.columns = 2;
  attnplan_step step = batch.step();
  step.phase = ATTNPLAN_PHASE_DRAFT;
  for (const int32_t route : {ATTNPLAN_ROUTE_DECODE, ATTNPLAN_ROUTE_EXTEND}) {
    PlanBuilder plan = one_segment(batch, route, 4);
    plan.warn_clamped(1, 34, 32);
    const auto blob = plan.blob();
    expect_right(run(config, step, &group, blob.data(), blob.size(), {}));

    PlanBuilder silent = one_segment(batch, route, 4);
    const auto unaware = silent.blob();
    const RunReport wrong = run(config, step, &group, unaware.data(), unaware.size(), {});
    EXPECT_FALSE(wrong.ok);
    EXPECT_EQ(wrong.worst_request, 1);
  }
}

TEST(Executor, SparseSelectionWithFewAndManyBlocks) {
  // 4-token blocks, top 3: from fewer live blocks than that to twenty-four.
  attnplan_config config = config_of(6, 2, 16);
  RunOptions options;
  options.sparse = M3Params{4, 3, 0, 1, 8};
  expect_right(run_plan(config, kMixed, mixed_plan(), nullptr, options));
  options.sparse->init_blocks = 1;
  options.sparse->local_blocks = 2;
  expect_right(run_plan(config, kMixed, mixed_plan(), nullptr, options));
}

TEST(Executor, SparseWithRoomForEveryBlockIsDense) {
  const attnplan_config config = config_of(6, 2, 16);
  RunOptions sparse;
  sparse.sparse = M3Params{4, 100, 0, 1, 8};
  const RunReport all = run_plan(config, kMixed, mixed_plan(), nullptr, sparse);
  expect_right(all);
  EXPECT_TRUE(all.sparse);
  EXPECT_FALSE(run_plan(config, kMixed, mixed_plan()).sparse);
}

TEST(Executor, TheSparseProfileSelectsSixteenBlocksOf128) {
  attnplan_config config = config_of(4, 1, 16);
  const attnplan_kv_cache cache = cache_of({ATTNPLAN_LAYOUT_LBHNC, 0, 128, 0});
  config.kv_cache = &cache;
  const Batch batch{{4, 4, 3}, {2500, 300, 3}};  // 20, 3 and 1 live blocks
  PlanBuilder plan(3, 11);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 2, 0, 8, 4);
  plan.segment(ATTNPLAN_ROUTE_PREFILL, 2, 3, 8, 11);
  for (const char* profile : {"minimax_m3_sparse", "hip_m3"}) {
    config.profile = profile;
    const RunReport report = run_plan(config, batch, plan);
    expect_right(report);
    EXPECT_TRUE(report.sparse);
  }
}

TEST(Executor, TheRouteNeverChangesTheAnswer) {
  const Batch batch{{3, 3, 3}, {200, 90, 3}};
  for (const bool sparse : {false, true}) {
    RunOptions options;
    if (sparse) options.sparse = M3Params{16, 4, 0, 1, 8};
    for (const int32_t route :
         {ATTNPLAN_ROUTE_DECODE, ATTNPLAN_ROUTE_EXTEND, ATTNPLAN_ROUTE_PREFILL}) {
      expect_right(
          run_plan(config_of(4, 2, 16), batch, one_segment(batch, route, 3), nullptr, options));
    }
  }
}

TEST(Executor, SectionsOfThePlanAreWhatKernelsRead) {
  const Batch batch{{5, 2}, {30, 40}};
  PlanBuilder right = one_segment(batch, ATTNPLAN_ROUTE_EXTEND);
  right.ints(ATTNPLAN_SECTION_QUERY_START_LOC, {0, 5, 7}).ints(ATTNPLAN_SECTION_SEQ_LENS, {30, 40});
  expect_right(run_plan(config_of(4, 2, 16), batch, right));

  PlanBuilder offsets = one_segment(batch, ATTNPLAN_ROUTE_EXTEND);
  offsets.ints(ATTNPLAN_SECTION_QUERY_START_LOC, {0, 4, 7});
  EXPECT_FALSE(run_plan(config_of(4, 2, 16), batch, offsets).ok);

  for (const auto& lengths : {std::vector<int32_t>{30, 39}, {29, 40}}) {
    PlanBuilder shorter = one_segment(batch, ATTNPLAN_ROUTE_EXTEND);
    shorter.ints(ATTNPLAN_SECTION_SEQ_LENS, lengths);
    EXPECT_FALSE(run_plan(config_of(4, 2, 16), batch, shorter).ok);
  }

  attnplan_config full = config_of(4, 2, 16);  // whose rows see as far as the lengths say
  full.mask = ATTNPLAN_MASK_FULL;
  for (const auto& [length, ok] : {std::pair{40, true}, {41, false}, {2'000'000'000, false}}) {
    PlanBuilder plan = one_segment(batch, ATTNPLAN_ROUTE_EXTEND);
    plan.ints(ATTNPLAN_SECTION_SEQ_LENS, {30, length});
    EXPECT_EQ(run_plan(full, batch, plan).ok, ok) << length;
  }
}

TEST(Executor, RowMapsOfThePlanAreWhatKernelsRead) {
  const Batch batch{{3, 2}, {30, 40}};
  const auto with_maps = [&](std::vector<int32_t> requests, std::vector<int32_t> positions) {
    PlanBuilder plan = one_segment(batch, ATTNPLAN_ROUTE_EXTEND);
    plan.ints(ATTNPLAN_SECTION_ROW_REQUEST, std::move(requests));
    plan.ints(ATTNPLAN_SECTION_ROW_POSITION, std::move(positions));
    return run_plan(config_of(4, 2, 16), batch, plan);
  };
  expect_right(with_maps({0, 0, 0, 1, 1}, {27, 28, 29, 38, 39}));
  EXPECT_FALSE(with_maps({0, 0, 1, 1, 1}, {27, 28, 29, 38, 39}).ok);
  EXPECT_FALSE(with_maps({0, 0, 0, 1, 1}, {27, 28, 28, 38, 39}).ok);
  EXPECT_FALSE(with_maps({0, 0, 0, 1, 1}, {27, 28, 29, 38, -1}).ok);
  EXPECT_FALSE(with_maps({0, 0, 0, 1, 9}, {27, 28, 29, 38, 39}).ok);
}

TEST(Executor, AGraphOfAnyKernelLeavesItsPadRowsZero) {
  const Batch batch{{5, 2}, {30, 40}};
  PlanBuilder plan = one_segment(batch, ATTNPLAN_ROUTE_EXTEND);
  plan.full_graph(16, -1, 0);
  const RunReport report = run_plan(config_of(4, 2, 16), batch, plan);
  expect_right(report);
  EXPECT_EQ(report.pad_rows, 9);

  PlanBuilder idle(0, 0);
  idle.full_graph(8, -1, 0);
  EXPECT_TRUE(run_plan(config_of(4, 2, 16), Batch{}, idle).ok);
}

TEST(Executor, NoRequestsAtAll) {
  const Batch none;
  const RunReport report = run_plan(config_of(4, 2, 16), none, PlanBuilder(0, 0));
  EXPECT_TRUE(report.ok);
  EXPECT_EQ(report.rows, 0);
}

TEST(Executor, CapsKeepTheMappingAndSayWhatRan) {
  RunOptions options;
  options.max_kv_heads = 2;
  options.max_group = 2;
  options.max_head_size = 8;
  options.max_seq_len = 45;
  options.max_rows = 20;
  const RunReport report =
      run_plan(config_of(64, 8, 192, 128), kMixed, mixed_plan(), nullptr, options);
  EXPECT_TRUE(report.ok);
  EXPECT_EQ(report.shape.num_q_heads, 4);
  EXPECT_EQ(report.shape.num_kv_heads, 2);
  EXPECT_EQ(report.shape.head_size, 8);
  EXPECT_EQ(report.shape.v_head_size, 5);
  EXPECT_EQ(report.max_seq_len, 45);
  EXPECT_EQ(report.rows_compared, 20);
  EXPECT_EQ(report.rows_written, 66);
}

}  // namespace
}  // namespace attnplan::cpu
