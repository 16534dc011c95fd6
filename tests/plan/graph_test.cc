// Which captured graph a step runs: against a choice made naively from the rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "everything.h"

namespace attnplan::plan {
namespace {

struct Choice {
  int32_t kind = ATTNPLAN_GRAPH_NONE;
  int32_t rows = 0;
  int32_t requests = -1;
  int32_t width = 0;
};

int32_t capture_rule(const Batch& batch, const attnplan_segment& segment) {
  static const auto builtin = [](const std::string& name) { return oracle::builtin_profile(name); };
  const auto kernels = batch.kernels ? batch.kernels : builtin(batch.profile);
  const oracle::Contract& kernel = (*kernels)[static_cast<size_t>(segment.kernel)];
  if (kernel.graph != ATTNPLAN_CAPTURE_DEFAULT) return kernel.graph;
  if (batch.profile == "unified" && !batch.kernels) return ATTNPLAN_CAPTURE_ALWAYS;
  return kernel.route == ATTNPLAN_ROUTE_DECODE ? ATTNPLAN_CAPTURE_UNIFORM : ATTNPLAN_CAPTURE_NEVER;
}

std::optional<int32_t> smallest(const std::vector<int32_t>& sizes, int64_t rows) {
  std::optional<int32_t> best;
  for (int32_t size : sizes) {
    if (size >= rows && (!best || size < *best)) best = size;
  }
  return best;
}

// Full sizes as graphs of whole requests, behind the pads in front of the first live one.
std::vector<int32_t> uniform_sizes(const Batch& batch, int32_t width, int32_t in_front) {
  const attnplan_config& config = batch.config;
  const int32_t most =
      config.graph_max_num_seqs > 0 ? config.graph_max_num_seqs : config.max_num_seqs;
  std::vector<int32_t> sizes;
  for (int32_t size : batch.graph_full) {
    const int32_t rows = (size + width - 1) / width * width;
    if (most > 0 && rows / width > most) continue;
    if (config.max_num_batched_tokens > 0 && rows > config.max_num_batched_tokens) continue;
    sizes.push_back(rows);
  }
  if (sizes.empty() || config.max_num_seqs == 0) return sizes;
  // What sections of requests have room for.
  const int32_t room =
      std::max(config.max_num_seqs, *std::max_element(sizes.begin(), sizes.end()) / width);
  std::erase_if(sizes, [&](int32_t rows) { return in_front + rows / width > room; });
  return sizes;
}

// From the plan's segments alone.
Choice choose(const Batch& batch, const Buffer& plan) {
  const attnplan_plan_header& header = property::header_of(plan);
  const auto segments = property::segments_of(plan);
  const attnplan_step& step = batch.step;
  const int32_t width = batch.config.graph_width > 0 ? batch.config.graph_width
                                                     : std::max(1, batch.config.decode_threshold);
  const int64_t rows = step.num_tokens_padded > 0 ? step.num_tokens_padded : header.num_rows;
  Choice choice;
  choice.rows = header.num_rows;
  if (step.graph_allow == ATTNPLAN_GRAPH_ALLOW_NONE) return choice;
  const bool uniform = segments.size() == 1 && segments[0].route == ATTNPLAN_ROUTE_DECODE &&
                       segments[0].width == width &&
                       capture_rule(batch, segments[0]) == ATTNPLAN_CAPTURE_UNIFORM;
  const bool always =
      !segments.empty() && std::all_of(segments.begin(), segments.end(), [&](const auto& s) {
        return capture_rule(batch, s) == ATTNPLAN_CAPTURE_ALWAYS;
      });
  if (step.graph_allow == ATTNPLAN_GRAPH_ALLOW_FULL && (uniform || always)) {
    const auto size = smallest(
        uniform ? uniform_sizes(batch, width, segments[0].req_begin) : batch.graph_full, rows);
    if (size) {
      return uniform ? Choice{ATTNPLAN_GRAPH_FULL, *size, *size / width, width}
                     : Choice{ATTNPLAN_GRAPH_FULL, *size, -1, 0};
    }
  }
  if (const auto size = smallest(batch.graph_piecewise, rows)) {
    return {ATTNPLAN_GRAPH_PIECEWISE, *size, -1, 0};
  }
  return choice;
}

// A planner whose graphs a step is likely to fit.
Batch graph_batch(Dice* dice) {
  Batch batch;
  property::generate_model(dice, &batch);
  property::generate_backend(dice, &batch);
  batch.config.sections = 0;
  batch.config.max_num_seqs = dice->in32(4, 60);
  batch.config.max_num_batched_tokens = dice->in32(40, 600);
  batch.config.max_model_len = 20000;
  if (dice->percent(15)) batch.config.flags |= ATTNPLAN_CONFIG_GRAPH;
  if (dice->percent(30)) batch.config.graph_width = dice->in32(1, 5);
  if (dice->percent(30)) batch.config.graph_max_num_seqs = dice->in32(1, 40);
  for (auto* sizes : {&batch.graph_full, &batch.graph_piecewise}) {
    if (dice->percent(20)) continue;
    for (int32_t i = dice->in32(1, 12); i > 0; --i) {
      sizes->push_back(dice->in32(1, std::min(200, batch.config.max_num_batched_tokens)));
    }
    std::sort(sizes->begin(), sizes->end());
    sizes->erase(std::unique(sizes->begin(), sizes->end()), sizes->end());
  }
  return batch;
}

void compare(const Batch& batch, const Buffer& plan, const std::string& name) {
  const attnplan_plan_header& header = property::header_of(plan);
  const Choice expected = choose(batch, plan);
  ASSERT_EQ(header.graph_kind, expected.kind) << name;
  if (expected.kind == ATTNPLAN_GRAPH_NONE && batch.step.num_tokens_padded > 0) return;
  ASSERT_EQ(header.graph_rows, expected.rows) << name;
  ASSERT_EQ(header.graph_requests, expected.requests) << name;
  ASSERT_EQ(header.graph_width, expected.width) << name;
  ASSERT_EQ(header.graph_pad_rows, expected.rows - header.num_rows) << name;
  const int32_t live = header.num_reqs - header.num_pads;
  ASSERT_EQ(header.graph_pad_requests, expected.requests < 0 ? 0 : expected.requests - live)
      << name;
}

TEST(Graph, IsTheSmallestThatHoldsTheRows) {
  const Scratch scratch = property::create_scratch();
  int kinds[3] = {0, 0, 0}, uniform = 0;
  for (uint64_t seed = 1; seed <= 30000; ++seed) {
    Dice dice(seed);
    Batch batch = graph_batch(&dice);
    random_step(&dice, &batch);
    if (!within_limits(batch)) continue;
    const BatchStructs structs(batch);
    Error error;
    const Planner planner = property::create_planner(structs.config(), &error);
    if (!planner) continue;
    const Buffer plan =
        property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
    if (plan.size() == 0) continue;
    const attnplan_plan_header& header = property::header_of(plan);
    const bool asked = !batch.graph_full.empty() || !batch.graph_piecewise.empty() ||
                       (batch.config.flags & ATTNPLAN_CONFIG_GRAPH) != 0;
    ASSERT_EQ((header.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0, asked) << "seed " << seed;
    if (!asked || header.num_segments == 0) continue;
    compare(batch, plan, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
    ++kinds[header.graph_kind];
    uniform += header.graph_requests >= 0;
  }
  EXPECT_GT(kinds[ATTNPLAN_GRAPH_NONE], 500);
  EXPECT_GT(kinds[ATTNPLAN_GRAPH_PIECEWISE], 500);
  EXPECT_GT(kinds[ATTNPLAN_GRAPH_FULL], 500);
  EXPECT_GT(uniform, 200);
}

// ------------------------------------------------------------------ a rank without work

struct Idle {
  explicit Idle(attnplan_graph_mode allow, int32_t padded, attnplan_phase phase) {
    config.profile = "aiter_mha";
    config.decode_threshold = 4;
    config.max_num_seqs = 64;
    config.max_num_batched_tokens = 256;
    config.max_model_len = 1000;
    config.graph_full = {full, 3};
    config.graph_piecewise = {piecewise, 2};
    step.query_lens = &nothing;
    step.seq_lens = &nothing;
    step.phase = phase;
    step.num_tokens_padded = padded;
    step.graph_allow = allow;
  }

  attnplan_plan_header header() {
    Error error;
    const Planner planner = property::create_planner(config, &error);
    EXPECT_TRUE(planner) << error.raw().message;
    const Scratch scratch = property::create_scratch();
    const Buffer plan = property::build(planner.get(), scratch.get(), step, nullptr, &error);
    EXPECT_GT(plan.size(), 0u) << error.raw().message;
    return property::header_of(plan);
  }

  const int32_t full[3] = {8, 16, 32};
  const int32_t piecewise[2] = {12, 64};
  const int32_t nothing = 0;
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  attnplan_step step = ATTNPLAN_STEP_INIT;
};

class IdleRank : public testing::TestWithParam<attnplan_phase> {};

TEST_P(IdleRank, RunsTheGraphOfTheOthers) {
  const attnplan_plan_header header = Idle(ATTNPLAN_GRAPH_ALLOW_FULL, 10, GetParam()).header();
  EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_FULL);
  EXPECT_EQ(header.graph_rows, 16);
  EXPECT_EQ(header.graph_pad_rows, 16);
  EXPECT_EQ(header.num_segments, 0);
}

TEST_P(IdleRank, NeverPicksAHigherModeThanAgreed) {
  attnplan_plan_header header = Idle(ATTNPLAN_GRAPH_ALLOW_PIECEWISE, 10, GetParam()).header();
  EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_PIECEWISE);
  EXPECT_EQ(header.graph_rows, 12);
  header = Idle(ATTNPLAN_GRAPH_ALLOW_NONE, 10, GetParam()).header();
  EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_NONE);
}

TEST_P(IdleRank, FallsBackToPiecewiseAboveTheFullGraphs) {
  attnplan_plan_header header = Idle(ATTNPLAN_GRAPH_ALLOW_FULL, 33, GetParam()).header();
  EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_PIECEWISE);
  EXPECT_EQ(header.graph_rows, 64);
  header = Idle(ATTNPLAN_GRAPH_ALLOW_FULL, 65, GetParam()).header();
  EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_NONE);
}

TEST_P(IdleRank, WithoutPaddedRowsRunsNoFullGraph) {
  const attnplan_plan_header header = Idle(ATTNPLAN_GRAPH_ALLOW_FULL, 0, GetParam()).header();
  EXPECT_NE(header.graph_kind, ATTNPLAN_GRAPH_FULL) << "nobody said what the others run";
}

INSTANTIATE_TEST_SUITE_P(Phases, IdleRank,
                         testing::Values(ATTNPLAN_PHASE_TARGET, ATTNPLAN_PHASE_IDLE,
                                         ATTNPLAN_PHASE_CAPTURE));

// Dummy requests of an idle rank: one row each, of no history.
TEST(Graph, DummiesTakeTheUniformGraph) {
  for (const attnplan_phase phase : {ATTNPLAN_PHASE_IDLE, ATTNPLAN_PHASE_CAPTURE}) {
    Idle idle(ATTNPLAN_GRAPH_ALLOW_FULL, 8, phase);
    const int32_t query[2] = {4, 4}, seq[2] = {4, 4};
    idle.step.query_lens = query;
    idle.step.seq_lens = seq;
    idle.step.num_reqs = 2;
    const attnplan_plan_header header = idle.header();
    EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_FULL);
    EXPECT_EQ(header.graph_rows, 8);
    EXPECT_EQ(header.graph_requests, 2);
    EXPECT_EQ(header.graph_width, 4);
    EXPECT_EQ(header.num_decodes, 2) << "a dummy's state means nothing";
  }
}

TEST(Graph, OneRowDummiesAreNoVerifyStep) {
  Idle idle(ATTNPLAN_GRAPH_ALLOW_FULL, 0, ATTNPLAN_PHASE_IDLE);
  const int32_t one = 1;
  idle.step.query_lens = &one;
  idle.step.seq_lens = &one;
  idle.step.num_reqs = 1;
  const attnplan_plan_header header = idle.header();
  EXPECT_EQ(header.graph_kind, ATTNPLAN_GRAPH_PIECEWISE);
  EXPECT_EQ(header.graph_rows, 12);
}

}  // namespace
}  // namespace attnplan::plan
