// attnplan_dispatch_check: what an engine is about to launch, judged without a plan. Every mistake
// here is one that engines have made.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr int32_t kThreshold = 4, kContext = 1000, kPages = 2048;

struct Verdict {
  attnplan_status status;
  attnplan_error error;
  uint32_t reasons;
};

// A launch of the decode kernel of aiter_mha over verify steps, with a typed fp8 cache of 1024
// blocks, two pages each.
class Launch {
 public:
  explicit Launch(std::vector<int32_t> query_lens) : query_(std::move(query_lens)) {
    cache.num_blocks = kPages / 2;
    cache.block_size = 128;
    cache.page_size = 64;
    cache.cache_dtype = ATTNPLAN_CACHE_FP8;
    cache.storage_dtype = ATTNPLAN_DTYPE_UINT8;
    dispatch.req_end = static_cast<int32_t>(query_.size());
    for (int32_t length : query_) dispatch.row_end += length;
    dispatch.max_query_len = query_.empty() ? 0 : query_[0];
    dispatch.max_seq_len = kContext + dispatch.max_query_len;
    dispatch.k_pages = dispatch.v_pages = kPages;
    dispatch.label = ATTNPLAN_DTYPE_E4M3FN;
  }

  Verdict judge() const {
    attnplan_config config = ATTNPLAN_CONFIG_INIT;
    config.profile = "aiter_mha";
    config.decode_threshold = kThreshold;
    config.kv_cache = &cache;
    Error error(64, 8);
    const Planner planner = property::create_planner(config, &error);
    EXPECT_TRUE(planner) << error.raw().message;
    const Scratch scratch = property::create_scratch();
    std::vector<int32_t> seq;
    for (int32_t length : query_) seq.push_back(kContext + length);
    attnplan_step step = ATTNPLAN_STEP_INIT;
    step.query_lens = query_.data();
    step.seq_lens = seq.data();
    step.num_reqs = static_cast<int32_t>(query_.size());
    step.flags = step_flags;
    Verdict verdict{};
    verdict.status =
        attnplan_dispatch_check(planner.get(), scratch.get(), &step, &dispatch, error.get());
    verdict.error = error.raw();
    if (error.raw().num_refusals > 0) verdict.reasons = error.refusals()[0].reasons;
    return verdict;
  }

  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  attnplan_dispatch dispatch = ATTNPLAN_DISPATCH_INIT;
  uint32_t step_flags = 0;

 private:
  std::vector<int32_t> query_;
};

std::vector<int32_t> thirty_of_four(std::initializer_list<int32_t> more = {}) {
  std::vector<int32_t> query(30, 4);
  query.insert(query.end(), more);
  return query;
}

void expect_told(const Verdict& verdict, attnplan_code code, int32_t request,
                 std::initializer_list<const char*> words) {
  EXPECT_EQ(verdict.status, ATTNPLAN_PLAN_ERROR);
  EXPECT_STREQ(attnplan_code_name(verdict.error.code), attnplan_code_name(code));
  EXPECT_EQ(verdict.error.request, request);
  for (const char* word : words) {
    EXPECT_NE(std::string(verdict.error.message).find(word), std::string::npos)
        << "'" << word << "' is not in: " << verdict.error.message;
  }
}

uint32_t reasons(std::initializer_list<attnplan_reason> list) {
  uint32_t bits = 0;
  for (attnplan_reason reason : list) bits |= 1u << reason;
  return bits;
}

TEST(Dispatch, ACorrectLaunchPasses) {
  const Verdict verdict = Launch(thirty_of_four()).judge();
  EXPECT_EQ(verdict.status, ATTNPLAN_OK) << verdict.error.message;
  EXPECT_EQ(verdict.error.code, ATTNPLAN_CODE_NONE);
}

TEST(Dispatch, WhatIsNotDeclaredIsNotJudged) {
  Launch launch(thirty_of_four());
  launch.dispatch.max_query_len = launch.dispatch.max_seq_len = 0;
  launch.dispatch.k_pages = launch.dispatch.v_pages = 0;
  launch.dispatch.label = ATTNPLAN_DTYPE_NONE;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK);
}

TEST(Dispatch, AHundredTwentyOneRowsAreNoVerifyStep) {
  const Verdict verdict = Launch(thirty_of_four({1})).judge();
  expect_told(verdict, ATTNPLAN_CODE_NO_ROUTE, 30,
              {"pa_decode_gluon", "RAGGED", "request 30 has 1 row", "request 0 has 4"});
  EXPECT_EQ(verdict.reasons, reasons({ATTNPLAN_REASON_RAGGED}));
}

TEST(Dispatch, AHundredTenRowsAreNoVerifyStep) {
  std::vector<int32_t> query(27, 4);
  query.push_back(2);
  const Verdict verdict = Launch(query).judge();
  expect_told(verdict, ATTNPLAN_CODE_NO_ROUTE, 27, {"RAGGED", "request 27 has 2 rows"});
  EXPECT_EQ(verdict.reasons, reasons({ATTNPLAN_REASON_RAGGED}));
}

// Sixteen rows over four requests divide well, and are still not four each.
TEST(Dispatch, ATotalThatDividesProvesNothing) {
  const Verdict verdict = Launch({4, 4, 6, 2}).judge();
  expect_told(verdict, ATTNPLAN_CODE_NO_ROUTE, 2,
              {"RAGGED, request 2 has 6 rows, request 0 has 4",
               "WIDTH_UNSUPPORTED, request 2 has 6 rows, limit 4",
               "GROUP_TOO_WIDE, request 2 has 6 rows x group of 16 = 96, limit 64"});
  EXPECT_EQ(verdict.error.value, 6);
  EXPECT_EQ(verdict.error.limit, 4);
  EXPECT_EQ(verdict.reasons, reasons({ATTNPLAN_REASON_RAGGED, ATTNPLAN_REASON_WIDTH_UNSUPPORTED,
                                      ATTNPLAN_REASON_GROUP_TOO_WIDE}));
}

TEST(Dispatch, APadBetweenRequestsIsTold) {
  const Verdict verdict = Launch({4, 0, 4}).judge();
  expect_told(verdict, ATTNPLAN_CODE_NO_ROUTE, 1, {"INTERIOR_PAD"});
  EXPECT_EQ(verdict.reasons, reasons({ATTNPLAN_REASON_INTERIOR_PAD}));
}

TEST(Dispatch, RowsThatAreNotThoseOfTheRequests) {
  Launch launch(thirty_of_four());
  launch.dispatch.row_end = 119;
  expect_told(launch.judge(), ATTNPLAN_CODE_ROW_COUNT_MISMATCH, 0, {"[0, 119)", "[0, 120)"});
  launch.dispatch.row_end = 120;
  launch.dispatch.row_begin = 4;
  expect_told(launch.judge(), ATTNPLAN_CODE_ROW_COUNT_MISMATCH, 0, {"[4, 120)", "[0, 120)"});
  launch.dispatch.req_begin = 1;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << "requests 1 to 29 have rows 4 to 119";
}

TEST(Dispatch, RowsThatWereNotDeclared) {
  Launch launch(thirty_of_four());
  launch.dispatch.row_begin = launch.dispatch.row_end = 0;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
  launch.dispatch.req_begin = 3;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
  launch.dispatch.row_begin = launch.dispatch.row_end = 4;
  expect_told(launch.judge(), ATTNPLAN_CODE_ROW_COUNT_MISMATCH, 3, {"[4, 4)", "[12, 120)"});
}

TEST(Dispatch, RowsThatTheDeviceMayMoveToAnotherLaunch) {
  Launch launch({4, 4, 90, 4});
  launch.step_flags = ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  launch.dispatch.req_end = 2;
  launch.dispatch.row_end = 8;
  launch.dispatch.kernel = 1;  // gather_varlen_merge
  expect_told(launch.judge(), ATTNPLAN_CODE_ROW_COUNT_MISMATCH, 2,
              {"rows [0, 8)", "inexact on both sides of request 2"});
  launch = Launch({4, 4, 90, 90});  // all that can move stands in the launch
  launch.step_flags = ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  launch.dispatch.req_begin = 2;
  launch.dispatch.row_begin = 8;
  launch.dispatch.kernel = 1;
  launch.dispatch.max_query_len = 90;
  launch.dispatch.max_seq_len = kContext + 90;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
}

TEST(Dispatch, AReasonOfOneRequestNamesIt) {
  Launch launch(std::vector<int32_t>(4, 4));
  launch.dispatch.kernel = 2;  // varlen_causal
  const Verdict verdict = launch.judge();
  expect_told(verdict, ATTNPLAN_CODE_NO_ROUTE, 0,
              {"varlen_causal refused: CONTEXT_UNSUPPORTED, request 0 has 1000 tokens of context"});
  EXPECT_EQ(verdict.error.value, 1000);
  launch.dispatch.kernel = 1;  // gather_varlen_merge
  launch.step_flags = ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  expect_told(launch.judge(), ATTNPLAN_CODE_NO_ROUTE, 0,
              {"gather_varlen_merge refused: SEQ_LENS_NOT_EXACT, the seq_len of request 0, 1004"});
}

TEST(Dispatch, AReasonOfTheCacheNamesItsFigure) {
  Launch launch(thirty_of_four());
  launch.cache.page_size = 32;
  launch.cache.num_blocks = 512;
  const Verdict verdict = launch.judge();
  expect_told(verdict, ATTNPLAN_CODE_NO_ROUTE, -1,
              {"PAGE_SIZE_UNSUPPORTED, pages of 32 tokens, admitted: 16, 64, 1024"});
  EXPECT_EQ(verdict.error.value, 32);
}

TEST(Dispatch, TheThresholdIsNotTheWidth) {
  Launch launch(std::vector<int32_t>(30, 1));
  launch.dispatch.max_query_len = kThreshold;
  const Verdict verdict = launch.judge();
  expect_told(verdict, ATTNPLAN_CODE_QUERY_LEN_BOUND_TOO_SMALL, 0,
              {"max_query_len", "4 was declared", "width is 1"});
}

TEST(Dispatch, AMaximumBelowTheMeasuredOne) {
  Launch launch(thirty_of_four());
  launch.dispatch.max_query_len = 3;
  expect_told(launch.judge(), ATTNPLAN_CODE_QUERY_LEN_BOUND_TOO_SMALL, 0, {"max_query_len 3", "4"});
  launch = Launch(thirty_of_four());
  launch.dispatch.max_seq_len = kContext + 3;
  const Verdict verdict = launch.judge();
  expect_told(verdict, ATTNPLAN_CODE_VALUE_OUT_OF_RANGE, 0, {"max_seq_len 1003", "1004"});
  EXPECT_EQ(verdict.error.value, 1004);
  EXPECT_EQ(verdict.error.limit, 1003);
  launch.dispatch.max_seq_len = 5000;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << "a larger one only costs time";
}

TEST(Dispatch, RawBytesForAKernelThatDispatchesOnDtype) {
  Launch launch(thirty_of_four());
  launch.dispatch.label = ATTNPLAN_DTYPE_UINT8;
  expect_told(launch.judge(), ATTNPLAN_CODE_DTYPE_MISMATCH, -1,
              {"pa_decode_gluon", "uint8", "e4m3fn"});
}

TEST(Dispatch, KAndVRowsThatWereNotTrimmed) {
  Launch launch(thirty_of_four());
  launch.cache.num_blocks = 1000;
  launch.cache.k_pages = 2048;
  launch.cache.v_pages = 2040;
  launch.dispatch.k_pages = 2048;
  launch.dispatch.v_pages = 2040;
  const Verdict verdict = launch.judge();
  expect_told(verdict, ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1, {"2048", "2040", "trim"});
  EXPECT_EQ(verdict.error.value, 2048);
  EXPECT_EQ(verdict.error.limit, 2040);
  launch.dispatch.k_pages = 2040;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
}

TEST(Dispatch, RowsBelowTheLargestPageThatABlockCanName) {
  Launch launch(thirty_of_four());
  launch.dispatch.k_pages = launch.dispatch.v_pages = 2047;
  expect_told(launch.judge(), ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1,
              {"page id 2047 is addressable", "2047"});
  launch.cache.flags = ATTNPLAN_KV_PACKED;  // K and V pages of a block in turn: 4 a block
  launch.dispatch.k_pages = launch.dispatch.v_pages = 4094;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
  launch.dispatch.k_pages = launch.dispatch.v_pages = 4093;
  expect_told(launch.judge(), ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1, {"page id 4093"});
}

// 128 packed blocks of eight pages each: K has 2048 pages, V begins eight later.
TEST(Dispatch, ViewsThatTheCacheDoesNotHave) {
  Launch launch(thirty_of_four());
  launch.cache.num_blocks = 128;
  launch.cache.page_size = 16;
  launch.cache.flags = ATTNPLAN_KV_PACKED;
  const auto told = [&launch](int64_t k, int64_t v, int64_t value, int64_t limit,
                              std::initializer_list<const char*> words) {
    launch.dispatch.k_pages = k;
    launch.dispatch.v_pages = v;
    const Verdict verdict = launch.judge();
    expect_told(verdict, ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1, words);
    EXPECT_EQ(verdict.error.value, value);
    EXPECT_EQ(verdict.error.limit, limit);
  };
  told(2048, 2048, 2048, 2040, {"K has 2048 pages", "V can have 2040", "trim K to V"});
  told(2048, 0, 2048, 2040, {"K has 2048 pages", "V can have 2040", "trim K to V"});
  told(0, 2048, 2048, 2040, {"V view of 2048 pages", "the cache has 2040"});
  told(4096, 4096, 4096, 2048, {"K view of 4096 pages", "the cache has 2048"});
  told(100, 0, 2039, 100, {"page id 2039 is addressable", "the K view has 100 pages"});
  told(0, 100, 2039, 100, {"page id 2039 is addressable", "the V view has 100 pages"});
  told(100, 2040, 100, 2040, {"K has 100 pages", "V has 2040"});
  for (const int64_t k : {0, 2040}) {
    for (const int64_t v : {0, 2040}) {
      launch.dispatch.k_pages = k;
      launch.dispatch.v_pages = v;
      EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
    }
  }
}

TEST(Dispatch, ScaleViewsThatTheCacheDoesNotHave) {
  Launch launch(thirty_of_four());
  launch.cache.scale = ATTNPLAN_SCALE_TOKEN_HEAD;
  launch.dispatch.k_scale_pages = launch.dispatch.v_scale_pages = kPages;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_OK) << launch.judge().error.message;
  launch.dispatch.k_scale_pages = launch.dispatch.v_scale_pages = kPages + 1;
  expect_told(launch.judge(), ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1,
              {"K scale view of 2049 pages", "2048"});
  launch.dispatch.k_scale_pages = 0;
  launch.dispatch.v_scale_pages = 7;
  expect_told(launch.judge(), ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1,
              {"the V scale view has 7 pages"});
}

TEST(Dispatch, NonsenseIsAnArgumentError) {
  Launch launch(thirty_of_four());
  launch.dispatch.kernel = 99;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_INVALID_ARGUMENT);
  launch.dispatch.kernel = -1;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_INVALID_ARGUMENT);
  launch = Launch(thirty_of_four());
  launch.dispatch.req_end = 31;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_INVALID_ARGUMENT);
  launch.dispatch.req_end = 30;
  launch.dispatch.req_begin = -1;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_INVALID_ARGUMENT);
  launch.dispatch.req_begin = 20;
  launch.dispatch.req_end = 10;
  EXPECT_EQ(launch.judge().status, ATTNPLAN_INVALID_ARGUMENT);
}

// The planner's own segments are launches that nobody objects to.
TEST(Dispatch, EverySegmentOfAPlanPasses) {
  const Scratch scratch = property::create_scratch();
  int64_t segments = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    const Batch batch = random_batch(seed);
    // Sorted segments are not ranges of the step; clamped lengths are not those of the step.
    if (batch.config.order == ATTNPLAN_ORDER_SORT) continue;
    if (batch.step.phase == ATTNPLAN_PHASE_DRAFT) continue;
    const BatchStructs structs(batch);
    Error error;
    const Planner planner = property::create_planner(structs.config(), &error);
    if (!planner) continue;
    const Buffer plan =
        property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
    for (const attnplan_segment& segment : property::segments_of(plan)) {
      attnplan_dispatch dispatch = ATTNPLAN_DISPATCH_INIT;
      dispatch.kernel = segment.kernel;
      dispatch.req_begin = segment.req_begin;
      dispatch.req_end = segment.req_end;
      dispatch.row_begin = segment.row_begin;
      dispatch.row_end = segment.row_end;
      dispatch.max_query_len = segment.max_query_len;
      dispatch.max_seq_len = segment.max_seq_len;
      dispatch.label = segment.label;
      ASSERT_EQ(attnplan_dispatch_check(planner.get(), scratch.get(), &structs.step(), &dispatch,
                                        error.get()),
                ATTNPLAN_OK)
          << batch.name << ": " << error.raw().message;
      ++segments;
    }
  }
  EXPECT_GT(segments, 1500);
}

}  // namespace
}  // namespace attnplan::plan
