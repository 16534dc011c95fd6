// Launch scalars under graphs: a captured grid is that of the graph, whatever batch runs in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr int32_t kTile = 16, kGroup = 8, kSplits = 3, kMaxSeqs = 6, kMaxLen = 500;
constexpr int32_t kSizes[] = {4, 8, 16, 24};

struct Launches {
  attnplan_plan_header header;
  std::vector<attnplan_segment> segments;
  std::vector<attnplan_launch> list;
};

class Engine {
 public:
  Engine(int32_t route, int32_t pads, int32_t capture, bool full) {
    contract_.name = "kernel";
    contract_.route = route;
    contract_.flags = route == ATTNPLAN_ROUTE_DECODE ? ATTNPLAN_CONTRACT_UNIFORM : 0;
    contract_.pads = pads;
    contract_.graph = capture;
    contract_.query_tile = kTile;
    contract_.num_splits = kSplits;
    config_.profile = "launch";
    config_.contracts = &pointer_;
    config_.num_contracts = 1;
    config_.num_q_heads = kGroup;
    config_.num_kv_heads = 1;
    config_.decode_threshold = 4;
    config_.max_num_seqs = kMaxSeqs;
    config_.max_num_batched_tokens = 64;
    config_.max_model_len = kMaxLen;
    (full ? config_.graph_full : config_.graph_piecewise) = {kSizes, std::size(kSizes)};
    config_.sections = uint64_t{1} << ATTNPLAN_SECTION_LAUNCH;
    Error error;
    planner_ = property::create_planner(config_, &error);
    EXPECT_TRUE(planner_) << error.raw().message;
  }

  Launches launches(const std::vector<int32_t>& query, const std::vector<int32_t>& seq) {
    attnplan_step step = ATTNPLAN_STEP_INIT;
    step.query_lens = query.data();
    step.seq_lens = seq.data();
    step.num_reqs = static_cast<int32_t>(query.size());
    Error error;
    const Buffer plan = property::build(planner_.get(), scratch_.get(), step, nullptr, &error);
    EXPECT_GT(plan.size(), 0u) << error.raw().message;
    Launches out = {property::header_of(plan), {}, {}};
    const auto segments = property::segments_of(plan);
    out.segments.assign(segments.begin(), segments.end());
    const attnplan_section_view view = property::section_of(plan, ATTNPLAN_SECTION_LAUNCH);
    out.list.resize(static_cast<size_t>(view.count));
    if (view.count > 0) {
      std::memcpy(out.list.data(), view.data, out.list.size() * sizeof(attnplan_launch));
    }
    return out;
  }

 private:
  attnplan_contract contract_ = ATTNPLAN_CONTRACT_INIT;
  const attnplan_contract* pointer_ = &contract_;
  attnplan_config config_ = ATTNPLAN_CONFIG_INIT;
  Planner planner_;
  Scratch scratch_ = property::create_scratch();
};

int32_t tiles(const std::vector<int32_t>& query) {
  int32_t count = 0;
  for (int32_t rows : query) {
    for (int32_t packed = 0; packed < rows * kGroup; packed += kTile) ++count;
  }
  return count;
}

TEST(Launch, UnderAUniformGraphIsThatOfAllItsRequests) {
  for (const int32_t pads : {ATTNPLAN_PADS_EMPTY, ATTNPLAN_PADS_FULL_WIDTH}) {
    Engine engine(ATTNPLAN_ROUTE_DECODE, pads, ATTNPLAN_CAPTURE_DEFAULT, true);
    for (size_t live = 3; live <= 4; ++live) {
      const Launches got =
          engine.launches(std::vector<int32_t>(live, 4),
                          std::vector<int32_t>(live, static_cast<int32_t>(90 + live)));
      ASSERT_EQ(got.header.graph_rows, 16);
      ASSERT_EQ(got.list.size(), 1u);
      EXPECT_EQ(got.list[0].requests, 4);
      EXPECT_EQ(got.list[0].rows, 16);
      EXPECT_EQ(got.list[0].query_tiles, tiles({4, 4, 4, 4}));
      EXPECT_EQ(got.list[0].max_seq_len, kMaxLen);
    }
  }
}

TEST(Launch, UnderAPiecewiseGraphIsMeasured) {
  Engine engine(ATTNPLAN_ROUTE_DECODE, ATTNPLAN_PADS_EMPTY, ATTNPLAN_CAPTURE_DEFAULT, false);
  const Launches got = engine.launches({4, 4}, {90, 91});
  ASSERT_EQ(got.header.graph_kind, ATTNPLAN_GRAPH_PIECEWISE);
  ASSERT_EQ(got.list.size(), 1u);
  EXPECT_EQ(got.list[0].requests, 2);
  EXPECT_EQ(got.list[0].rows, 8);
  EXPECT_EQ(got.list[0].query_tiles, tiles({4, 4}));
  EXPECT_EQ(got.list[0].max_seq_len, 91);
}

// Random batches: one launch for each key, and none that a batch's own tiles or requests pass.
void check_keys(Engine* engine, uint64_t first_seed, int uniform_percent) {
  std::map<std::tuple<int32_t, int32_t, int32_t>, attnplan_launch> by_key;
  int again = 0;
  for (uint64_t seed = first_seed; seed < first_seed + 3000; ++seed) {
    Dice dice(seed);
    const bool uniform = dice.percent(uniform_percent);
    std::vector<int32_t> query, seq;
    for (int32_t i = dice.in32(1, kMaxSeqs); i > 0; --i) {
      query.push_back(uniform ? 4 : dice.in32(0, 8));
      seq.push_back(query.back() + dice.in32(1, 400));
    }
    if (std::accumulate(query.begin(), query.end(), 0) > kSizes[std::size(kSizes) - 1]) continue;
    const Launches got = engine->launches(query, seq);
    if (got.header.graph_kind != ATTNPLAN_GRAPH_FULL || got.list.empty()) continue;
    ASSERT_EQ(got.list.size(), 1u);
    const attnplan_launch& launch = got.list[0];
    EXPECT_GE(launch.query_tiles, tiles(query)) << "seed " << seed;
    EXPECT_GE(launch.requests, got.segments[0].req_end - got.segments[0].req_begin);
    EXPECT_EQ(launch.rows, got.header.graph_rows);
    EXPECT_EQ(launch.scratch_bytes, int64_t{kSplits} * launch.rows * kGroup * (128 + 1) * 4);
    const auto [at, fresh] = by_key.try_emplace(
        {got.header.graph_rows, got.header.graph_requests, got.header.graph_width}, launch);
    EXPECT_EQ(std::memcmp(&at->second, &launch, sizeof launch), 0) << "seed " << seed;
    again += !fresh;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(by_key.size(), 3u);
  EXPECT_GT(again, 500);
}

TEST(Launch, IsTheSameForEveryBatchOfAUniformGraph) {
  Engine engine(ATTNPLAN_ROUTE_DECODE, ATTNPLAN_PADS_FULL_WIDTH, ATTNPLAN_CAPTURE_UNIFORM, true);
  check_keys(&engine, 1, 100);
}

TEST(Launch, IsTheSameForEveryBatchOfAnyLengths) {
  Engine engine(ATTNPLAN_ROUTE_EXTEND, ATTNPLAN_PADS_EMPTY, ATTNPLAN_CAPTURE_ALWAYS, true);
  check_keys(&engine, 10000, 30);
}

}  // namespace
}  // namespace attnplan::plan
