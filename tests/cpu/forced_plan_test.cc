// Plans that do not fit their batch. The executor maps rows as fast kernels do, so each of these
// must come out wrong; the plan that fits must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/run.h"
#include "plan_builder.h"

namespace attnplan::cpu {
namespace {

attnplan_config config_of(const char* profile) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = profile;
  config.num_q_heads = 4;
  config.head_size = 16;
  return config;
}

RunReport run_plan(const Batch& batch, PlanBuilder plan, const RunOptions& options = {},
                   const char* profile = "aiter_mha") {
  const auto blob = plan.blob();
  return run(config_of(profile), batch.step(), nullptr, blob.data(), blob.size(), options);
}

// What ragged verify and draft steps were once planned as: one decode segment of a width that was
// assumed, never measured.
void expect_assumed_width_is_wrong(const Batch& batch, int32_t width, int32_t first_wrong_row) {
  for (const char* profile : {"aiter_mha", "minimax_m3_sparse"}) {
    SCOPED_TRACE(profile);
    for (const RunOptions& options : {RunOptions{}, RunOptions::quick()}) {
      const RunReport assumed =
          run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, width), options, profile);
      EXPECT_FALSE(assumed.ok);
      EXPECT_EQ(assumed.problem, "");
      EXPECT_GT(assumed.max_error, 1e-3);  // three keys of a thousand count for that much
      EXPECT_GE(assumed.worst_row, first_wrong_row);
      const RunReport measured =
          run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_EXTEND), options, profile);
      EXPECT_TRUE(measured.ok) << measured.max_error;
    }
  }
}

TEST(ForcedPlan, SixteenRowsThatDivideByFourAndAreRagged) {
  // 4 + 4 + 6 + 2 = 4 * 4: every row is written, no count is off, the answers are wrong.
  const Batch batch{{4, 4, 6, 2}, {100, 100, 102, 98}};
  expect_assumed_width_is_wrong(batch, 4, 8);
  const RunReport report = run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4));
  EXPECT_EQ(report.rows_written, 16);
  EXPECT_EQ(report.rows_wrong, 6);  // the last two end where their request ends, by chance
  EXPECT_EQ(report.rows_out_of_range, 0);
  EXPECT_TRUE(std::isfinite(report.max_error));
}

TEST(ForcedPlan, OneHundredAndTenDraftRowsAsFours) {
  Batch batch{std::vector<int32_t>(28, 4), std::vector<int32_t>(28, 204)};
  batch.query_lens.back() = 2;
  batch.seq_lens.back() = 202;
  expect_assumed_width_is_wrong(batch, 4, 108);

  PlanBuilder cut(28, 110);  // 110 / 4 = 27 requests: two rows are left to nobody
  cut.segment(ATTNPLAN_ROUTE_DECODE, 0, 27, 0, 110, 4);
  const RunReport report = run_plan(batch, cut);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.rows_unwritten, 2);
  EXPECT_EQ(report.rows_wrong, 2);
  EXPECT_EQ(report.worst_row, 108);
  EXPECT_TRUE(std::isinf(report.max_error));

  PlanBuilder whole(28, 110);  // 28 requests of four rows: two writes behind the batch
  whole.segment(ATTNPLAN_ROUTE_DECODE, 0, 28, 0, 110, 4);
  EXPECT_EQ(run_plan(batch, whole).rows_out_of_range, 2);
}

TEST(ForcedPlan, OneHundredAndTwentyOneVerifyRowsAsFours) {
  Batch batch{std::vector<int32_t>(31, 4), std::vector<int32_t>(31, 1004)};
  batch.query_lens.back() = 1;
  batch.seq_lens.back() = 1001;
  expect_assumed_width_is_wrong(batch, 4, 120);
  EXPECT_EQ(run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4)).rows_out_of_range, 3);

  Batch first = batch;  // the newcomer in front shifts every row behind it
  std::swap(first.query_lens.front(), first.query_lens.back());
  std::swap(first.seq_lens.front(), first.seq_lens.back());
  expect_assumed_width_is_wrong(first, 4, 0);
}

TEST(ForcedPlan, AUniformKernelWithoutAWidthTakesTheLongestQuery) {
  const Batch batch{{4, 4, 6, 2}, {100, 100, 102, 98}};
  PlanBuilder plan(4, 16);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 4, 0, 16).max_query_len = 6;
  EXPECT_FALSE(run_plan(batch, plan).ok);
  for (const char* ragged : {"hip", "hip_m3"}) {  // whose decode kernels take ragged rows
    EXPECT_TRUE(run_plan(batch, plan, {}, ragged).ok) << ragged;
  }
}

TEST(ForcedPlan, ContractsOfTheCallerSayHowRowsAreMapped) {
  const Batch batch{{4, 4, 6, 2}, {100, 100, 102, 98}};
  PlanBuilder plan(4, 16);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 4, 0, 16).max_query_len = 6;
  attnplan_contract contract = ATTNPLAN_CONTRACT_INIT;
  contract.route = ATTNPLAN_ROUTE_DECODE;
  const attnplan_contract* const contracts[] = {&contract};
  attnplan_config config = config_of("mine");
  config.contracts = contracts;
  config.num_contracts = 1;
  const auto blob = plan.blob();
  EXPECT_TRUE(run(config, batch.step(), nullptr, blob.data(), blob.size(), {}).ok);
  contract.flags = ATTNPLAN_CONTRACT_UNIFORM;
  EXPECT_FALSE(run(config, batch.step(), nullptr, blob.data(), blob.size(), {}).ok);
}

TEST(ForcedPlan, APadBetweenUniformRequestsShiftsARowDivider) {
  const Batch batch{{2, 0, 2}, {20, 0, 30}};
  const RunReport wrong = run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, 2));
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.worst_row, 2);
  EXPECT_TRUE(run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_EXTEND)).ok);
}

TEST(ForcedPlan, RowsNobodyWritesStayPoisoned) {
  const Batch batch{{4, 4, 5}, {50, 60, 70}};
  PlanBuilder plan(3, 13);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 2, 0, 8, 4);
  const RunReport report = run_plan(batch, plan);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.rows_written, 8);
  EXPECT_EQ(report.rows_unwritten, 5);
  EXPECT_TRUE(std::isinf(report.max_error));
  EXPECT_EQ(report.worst_row, 8);
  EXPECT_EQ(report.worst_request, 2);
}

TEST(ForcedPlan, RowsWrittenTwiceAreCountedThoughTheirValuesAreRight) {
  const Batch batch{{4, 4}, {50, 60}};
  PlanBuilder plan(2, 8);
  plan.segment(ATTNPLAN_ROUTE_EXTEND, 0, 2, 0, 8);
  plan.segment(ATTNPLAN_ROUTE_EXTEND, 1, 2, 4, 8);
  const RunReport report = run_plan(batch, plan);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.rows_written, 4);
  EXPECT_EQ(report.rows_rewritten, 4);
  EXPECT_LE(report.max_error, 1e-9);
}

TEST(ForcedPlan, WritesAstrayAreCountedThoughEveryRowIsRight) {
  const Batch batch{{4, 4}, {50, 60}};
  PlanBuilder plan(2, 8);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 2, 0, 4,
               4);  // claims a request that lies outside its rows
  plan.segment(ATTNPLAN_ROUTE_DECODE, 1, 2, 4, 8, 4);
  const RunReport report = run_plan(batch, plan);
  EXPECT_EQ(report.rows_written, 8);
  EXPECT_LE(report.max_error, 1e-9);
  EXPECT_EQ(report.rows_out_of_range, 4);
  EXPECT_FALSE(report.ok);
}

// One wrong number in an otherwise right plan, at full size and under the caps of a quick run.
TEST(ForcedPlan, EverySlipOfOneShows) {
  Batch batch;
  for (int32_t r = 0; r < 24; ++r) {
    batch.query_lens.push_back(r < 16 ? 4 : 3 + r % 5);
    batch.seq_lens.push_back(400 + 37 * r);
  }
  const int32_t rows = batch.rows();
  const auto build = [&](const std::function<void(attnplan_segment&, attnplan_segment&)>& slip) {
    attnplan_segment decode{};
    decode.route = ATTNPLAN_ROUTE_DECODE;
    decode.req_end = 16;
    decode.row_end = 64;
    decode.width = 4;
    attnplan_segment extend{};
    extend.route = ATTNPLAN_ROUTE_EXTEND;
    extend.req_begin = 16;
    extend.req_end = 24;
    extend.row_begin = 64;
    extend.row_end = rows;
    slip(decode, extend);
    PlanBuilder plan(24, rows);
    for (const attnplan_segment& s : {decode, extend}) {
      plan.segment(s.route, s.req_begin, s.req_end, s.row_begin, s.row_end) = s;
    }
    return plan;
  };
  using Segment = attnplan_segment;
  const std::vector<std::function<void(Segment&, Segment&)>> slips{
      [](Segment& d, Segment&) { d.width = 3; },
      [](Segment& d, Segment&) { d.width = 5; },
      [](Segment& d, Segment&) { d.req_end = 15; },
      [](Segment& d, Segment&) { d.req_begin = 1; },
      [](Segment& d, Segment&) { d.row_begin = 1; },
      [](Segment& d, Segment&) { d.row_end = 63; },
      [](Segment& d, Segment& e) { d.req_end = e.req_begin = 17; },
      [](Segment&, Segment& e) { e.req_begin = 17; },
      [](Segment&, Segment& e) { e.req_end = 23; },
      [](Segment&, Segment& e) { e.row_begin = 63; },
      [](Segment&, Segment& e) { e.row_begin = 65; },
      [](Segment&, Segment& e) { e.row_end -= 1; },
      [](Segment& d, Segment&) { d.route = ATTNPLAN_ROUTE_PAD; },
      [](Segment&, Segment& e) { e.req_begin = -5; },
      [](Segment&, Segment& e) {
        e.req_end = std::numeric_limits<int32_t>::max();
        e.req_begin = 0;
      },
      [](Segment& d, Segment&) { d.width = std::numeric_limits<int32_t>::max(); },
  };
  for (const RunOptions& options : {RunOptions{}, RunOptions::quick()}) {
    EXPECT_TRUE(run_plan(batch, build([](Segment&, Segment&) {}), options).ok);
    for (size_t i = 0; i < slips.size(); ++i) {
      EXPECT_FALSE(run_plan(batch, build(slips[i]), options).ok) << "slip " << i;
    }
  }
}

TEST(ForcedPlan, AWrongOrderIsWrong) {
  const Batch batch{{4, 4}, {50, 60}};
  PlanBuilder plan = one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4);
  plan.order({1, 0});
  EXPECT_TRUE(run_plan(batch, plan).ok);  // engine and plan agree: fine
  const Batch ragged{{4, 2}, {50, 60}};
  PlanBuilder sorted(2, 6);
  sorted.order({1, 0});
  sorted.segment(ATTNPLAN_ROUTE_DECODE, 0, 1, 0, 4, 4);
  sorted.segment(ATTNPLAN_ROUTE_EXTEND, 1, 2, 4, 6);
  EXPECT_FALSE(run_plan(ragged, sorted).ok);
}

TEST(ForcedPlan, APlanOfAnotherStepIsNotRun) {
  const Batch batch{{4, 4}, {50, 60}};
  for (PlanBuilder plan : {PlanBuilder(3, 8), PlanBuilder(2, 9)}) {
    const RunReport report = run_plan(batch, plan);
    EXPECT_FALSE(report.ok);
    EXPECT_NE(report.problem, "");
    EXPECT_EQ(report.rows_unwritten, 8);
  }
  const RunReport none = run(config_of("aiter_mha"), batch.step(), nullptr, nullptr, 0, {});
  EXPECT_FALSE(none.ok);
  EXPECT_EQ(none.problem, "not a plan");
}

TEST(ForcedPlan, AStepTooLargeToHoldSaysSo) {
  const Batch batch{{4, 4}, {2'000'000'000, 2'000'000'000}};
  RunOptions options;
  const RunReport report = run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4), options);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.problem.find("do not fit"), std::string::npos) << report.problem;
  options.max_seq_len = 1000;
  EXPECT_TRUE(run_plan(batch, one_segment(batch, ATTNPLAN_ROUTE_DECODE, 4), options).ok);
}

// Damaged blobs are judged, whatever their bytes say: nothing is read or written astray (the
// sanitizers watch), and none that is called right lacks a row.
TEST(ForcedPlan, DamagedBlobsNeverDoHarm) {
  const Batch batch{{2, 2, 0, 3, 1}, {40, 20, 0, 30, 1}};
  PlanBuilder plan(5, 8);
  plan.segment(ATTNPLAN_ROUTE_DECODE, 0, 2, 0, 4, 2);
  plan.segment(ATTNPLAN_ROUTE_EXTEND, 3, 5, 4, 8);
  plan.order({0, 1, 2, 3, 4}).full_graph(10, 6, 2).warn_clamped(1, 99, 50);
  plan.ints(ATTNPLAN_SECTION_SEQ_LENS, {40, 20, 0, 30, 1});
  plan.ints(ATTNPLAN_SECTION_ROW_REQUEST, {0, 0, 1, 1, 3, 3, 3, 4});
  plan.ints(ATTNPLAN_SECTION_ROW_POSITION, {38, 39, 18, 19, 27, 28, 29, 0});
  const auto blob = plan.blob();
  const std::vector<std::byte> intact(blob.begin(), blob.end());
  auto* bytes = const_cast<std::byte*>(blob.data());
  attnplan_config config = config_of("aiter_mha");
  config.num_q_heads = 1;
  config.head_size = 2;
  ASSERT_TRUE(run(config, batch.step(), nullptr, bytes, intact.size(), {}).ok);

  std::mt19937 random(9);
  int wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    std::copy(intact.begin(), intact.end(), bytes);
    for (int change = random() % 3; change >= 0; --change) {
      const std::byte values[] = {std::byte{0}, std::byte{1}, std::byte{0x7f}, std::byte{0xff},
                                  static_cast<std::byte>(random())};
      bytes[random() % intact.size()] = values[random() % 5];
    }
    const RunReport report = run(config, batch.step(), nullptr, bytes, intact.size(), {});
    wrong += !report.ok;
    if (report.ok) {
      ASSERT_EQ(report.rows_written, 8);
      ASSERT_LE(report.max_error, 1e-9);
    }
  }
  EXPECT_GT(wrong, 4000);  // many bytes are measured figures, hashes and gaps, which nobody reads
}

}  // namespace
}  // namespace attnplan::cpu
