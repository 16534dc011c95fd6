// --explain: what a person reads at three in the morning.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json/batch_document.h"
#include "json/session.h"
#include "tool/explain_text.h"
#include "tool_process.h"

namespace attnplan::tool {
namespace {

std::string explanation(const std::string& text) {
  json::BatchDocument batch;
  const auto problem = json::parse_batch(text, {"t.json", 1, 1}, "", batch);
  json::Session session;
  std::string out;
  append_explanation(batch, problem ? json::outcome_of(*problem) : session.plan(batch), out);
  for (const std::string& line : test::lines_of(out)) EXPECT_LE(line.size(), 100u) << line;
  return out;
}

TEST(Explain, VerifyStepWithOneNewcomer) {
  const test::ToolResult all = test::run_tool(
      {"plan", "--explain", std::string(ATTNPLAN_TEST_DATA) + "/cases/routing.jsonl"});
  EXPECT_EQ(all.status, 0);
  const std::string golden =
      "# verify step, one newcomer without drafts: 121 rows\n"
      "31 requests, 121 rows; decode threshold 4\n"
      "no decode kernel takes requests 0-30 as a whole: policy demote keeps none as decodes\n"
      "route   kernel               requests   rows          width  max query  max seq\n"
      "extend  gather_varlen_merge  0-30 (31)  0-120 (121)  ragged          4     1004\n"
      "        pa_decode_gluon refused: RAGGED, request 30 has 1 row, request 0 has 4\n"
      "\n";
  EXPECT_EQ(all.out.substr(0, golden.size()), golden);
}

TEST(Explain, SortedPlansNameTheRequestsOfTheStep) {
  EXPECT_EQ(explanation(R"({"name": "sorted", "backend": "aiter_mha", "decode_threshold": 4,
      "query_lens": [1, 4, 0, 4], "seq_lens": [900, 304, 0, 404], "options": {"order": "sort"}})"),
            "# sorted\n"
            "4 requests, 9 rows, 1 pad; decode threshold 4\n"
            "sorted: positions 0, 1, ... are requests 1, 3, 0, 2\n"
            "no decode kernel takes positions 0-2 as a whole: policy demote keeps none as decodes\n"
            "route   kernel               positions  rows      width  max query  max seq\n"
            "extend  gather_varlen_merge  0-2 (3)    0-8 (9)  ragged          4      900\n"
            "        pa_decode_gluon refused: RAGGED, request 0 has 1 row, request 1 has 4\n"
            "\n");
}

TEST(Explain, BoundsAreMarkedAndTheCacheIsShown) {
  EXPECT_EQ(explanation(R"({"backend": {"name": "c", "kernels": [
      {"name": "d", "route": "decode"}, {"name": "e", "route": "extend"}]},
      "kv_cache": {"num_blocks": 64, "block_size": 32, "cache_dtype": "fp8"},
      "decode_threshold": 4, "query_lens": [3, 3, 237], "seq_lens": [103, 103, 301],
      "query_lens_exact": false})"),
            "3 requests, 243 rows; decode threshold 4\n"
            "route   kernel  requests  rows          width  max query  max seq  page   dtype\n"
            "decode  d       0-1 (2)   0-5 (6)      device       <= 4   <= 104    32  e4m3fn\n"
            "extend  e       2 (1)     6-242 (237)     237        237      301    32  e4m3fn\n"
            "\n");
}

TEST(Explain, ErrorsListTheKernelsThatWereTried) {
  EXPECT_EQ(
      explanation(R"({"name": "odd block", "backend": "minimax_m3_sparse", "query_lens": [1, 1],
      "seq_lens": [20, 30], "kv_cache": {"num_blocks": 64, "block_size": 16}})"),
      "# odd block\n"
      "error NO_ROUTE: no kernel of the profile takes 2 requests, the first is 0\n"
      "  m3_decode refused: BLOCK_SIZE_UNSUPPORTED, blocks of 16 tokens, admitted: 128\n"
      "  m3_prefill refused: BLOCK_SIZE_UNSUPPORTED, blocks of 16 tokens, admitted: 128\n"
      "  requests: 0, 1\n"
      "\n");
}

constexpr const char* kGraphBatch = R"({"backend": "aiter_mha", "decode_threshold": 4, )";

struct GraphLines {
  const char* batch;  // behind kGraphBatch
  const char* lines;  // the end of the explanation
};

// What an engine replays, or why it cannot.
TEST(Explain, GraphsSayWhatTheyTakeOrWhyNot) {
  const GraphLines all[] = {
      {R"("query_lens": [4, 4, 4], "seq_lens": [9, 9, 9], "graph": {"full": [8, 20]}})",
       "graph: full, 20 rows, 5 requests of width 4; padding: 8 rows, 2 requests\n"},
      {R"("query_lens": [4, 4], "seq_lens": [9, 9], "graph": {"full": [8]}})",
       "graph: full, 8 rows, 2 requests of width 4; no padding\n"},
      {R"("query_lens": [4, 1], "seq_lens": [9, 9], "graph": {"full": [8], "piecewise": [6]}})",
       "graph: piecewise, 6 rows; padding: 1 row\n"
       "       no full graph: gather_varlen_merge is never captured whole\n"},
      {R"("query_lens": [4, 4], "seq_lens": [9, 9],
          "graph": {"full": [8], "piecewise": [8], "allow": "piecewise"}})",
       "graph: piecewise, 8 rows; no padding\n"
       "       no full graph: the step allows piecewise at most\n"},
      {R"("query_lens": [4], "seq_lens": [9], "graph": {"full": [8], "allow": "none"}})",
       "graph: none\n       no graph: the step allows none\n"},
      {R"("query_lens": [1, 1], "seq_lens": [9, 9], "graph": {"full": [8], "piecewise": [1]}})",
       "graph: none\n"
       "       no full graph: the batch has width 1, the graphs have 4\n"
       "       no piecewise graph: the largest has 1 row, 2 needed\n"},
      {R"("query_lens": [4, 4, 1, 1], "seq_lens": [9, 9, 9, 9], "graph": {"full": [16]},
          "options": {"ragged": "split_runs"}})",
       "graph: none\n"
       "       no full graph: pa_decode_gluon is captured alone, the plan has 2 segments\n"
       "       no piecewise graph: there is no piecewise size\n"},
      {R"("query_lens": [4, 4, 4], "seq_lens": [9, 9, 9], "graph": {"full": [8]}})",
       "graph: none\n"
       "       no full graph: the largest of width 4 has 8 rows, 12 needed\n"
       "       no piecewise graph: there is no piecewise size\n"},
      {R"("query_lens": [4], "seq_lens": [9], "num_tokens_padded": 12, "graph": {"full": [8, 12]}})",
       "graph: full, 12 rows, 3 requests of width 4; padding: 8 rows, 2 requests\n"},
      {R"("query_lens": [4], "seq_lens": [9], "graph": {"full": [8]}, "limits": {"max_num_seqs": 1}})",
       "graph: none\n"
       "       no full graph: no size of width 4 is within the limits\n"
       "       no piecewise graph: there is no piecewise size\n"},
      {R"("query_lens": [0, 4], "seq_lens": [0, 9], "graph": {"full": [16]},
          "limits": {"max_num_seqs": 4}})",
       "graph: none\n"
       "       no full graph: behind 1 pad in front, no size of width 4 for 4 rows is within the "
       "limits\n"
       "       no piecewise graph: there is no piecewise size\n"},
      {R"("query_lens": [4], "seq_lens": [9], "graph": {}})",
       "graph: none\n"
       "       no full graph: there is no full size\n"
       "       no piecewise graph: there is no piecewise size\n"},
  };
  for (const GraphLines& g : all) {
    const std::string text = explanation(std::string(kGraphBatch) + g.batch);
    EXPECT_TRUE(text.ends_with(std::string("\n") + g.lines + "\n")) << text << g.lines;
  }
  EXPECT_EQ(explanation(std::string(kGraphBatch) + R"("query_lens": [4], "seq_lens": [9]})")
                .find("graph"),
            std::string::npos);
}

TEST(Explain, PadsThatAreLaunchedSaySo) {
  const std::string text = explanation(R"({"backend": {"name": "own", "kernels": [
      {"name": "d", "route": "decode", "uniform": true, "pads": "full_width"}]},
      "decode_threshold": 4, "query_lens": [4], "seq_lens": [9], "graph": {"full": [16]}})");
  EXPECT_NE(text.find("; padding: 12 rows, 3 requests of 4 rows and 1 token each\n"),
            std::string::npos)
      << text;
}

TEST(Explain, AnIdleStepSaysWhatToLaunch) {
  const std::string idle = std::string(kGraphBatch) + R"("phase": "idle", "query_lens": [],
      "seq_lens": [])";
  EXPECT_EQ(explanation(idle + "}"),
            "0 requests, 0 rows; decode threshold 4; phase idle\n"
            "no live request: nothing to launch\n"
            "\n");
  EXPECT_EQ(explanation(idle + R"(, "num_tokens_padded": 24, "graph": {"full": [8, 24]}})"),
            "0 requests, 0 rows; decode threshold 4; phase idle\n"
            "no live request: the graph runs with nothing but padding\n"
            "graph: full, 24 rows, 6 requests of width 4; padding: 24 rows, 6 requests\n"
            "\n");
  EXPECT_EQ(explanation(idle + R"(, "num_tokens_padded": 32, "graph": {"full": [8, 24]}})"),
            "0 requests, 0 rows; decode threshold 4; phase idle\n"
            "no live request: nothing to launch\n"
            "graph: none\n"
            "       no full graph: the largest of width 4 has 24 rows, 32 needed\n"
            "       no piecewise graph: there is no piecewise size\n"
            "\n");
  EXPECT_EQ(explanation(idle + R"(, "graph": {"full": [8]}})"),
            "0 requests, 0 rows; decode threshold 4; phase idle\n"
            "no live request: nothing to launch\n"
            "graph: none\n"
            "       no graph: no rows, and num_tokens_padded names none\n"
            "\n");
}

TEST(Explain, AutoSaysWhatTheOthersWouldHaveCost) {
  const std::string text = explanation(std::string(kGraphBatch) + R"("query_lens": [4, 4, 1],
      "seq_lens": [1000, 1000, 1000], "options": {"ragged": "auto"}})");
  // A launch is 4000 ns, a token 0.128 ns on the decode kernel and 0.32 ns on the other.
  EXPECT_NE(text.find("chosen by cost: demote 4960 ns, uniform_prefix 8576 ns, split_runs "),
            std::string::npos)
      << text;
}

// Names come from a document: they neither break a line nor drive the terminal.
TEST(Explain, ControlCharactersStayInTheirLine) {
  const std::string text = explanation(
      R"({"name": "two\nlines \u001b[31m\u0085", "backend": {"name": "c", "kernels": [
          {"name": "a\nb\u001b", "route": "decode", "archs": ["x\ny"]},
          {"name": "c\td", "route": "extend"}]}, "query_lens": [1], "seq_lens": [9]})");
  EXPECT_EQ(text,
            "# two\\nlines \\u001b[31m\\u0085\n"
            "1 request, 1 row; decode threshold 1\n"
            "no decode kernel takes request 0 as a whole: policy demote keeps none as decodes\n"
            "route   kernel  requests  rows   width  max query  max seq\n"
            "extend  c?d     0 (1)     0 (1)      1          1        9\n"
            "        a?b? refused: ARCH_UNSUPPORTED, the device is gfx950, admitted: x?y\n"
            "\n");
  const std::string bad = explanation("{\"a\\nb\": 1}");
  EXPECT_EQ(bad, "error BAD_DOCUMENT: t.json:1:2: \"a\\nb\": unknown key\n\n");
}

// One reason, the contract and batch that give it, and the sentence that says what was in the way.
struct Witness {
  const char* reason;
  const char* contract;  // members of a decode kernel's contract
  const char* batch;     // members of the document
  const char* sentence;
};

constexpr Witness kWitnesses[] = {
    {"RAGGED", R"("uniform": true)", R"("query_lens": [4, 4, 2], "seq_lens": [9, 9, 9])",
     "request 2 has 2 rows, request 0 has 4"},
    {"INTERIOR_PAD", R"("uniform": true)",
     R"("query_lens": [4, 4, 0, 4], "seq_lens": [9, 9, 0, 9])",
     "request 2 is a pad between live requests"},
    {"QUERY_LENS_NOT_EXACT", R"("uniform": true)",
     R"("query_lens": [4, 3], "seq_lens": [9, 9], "query_lens_exact": false)",
     "request 0 has 1 to 4 rows, the device decides"},
    {"QUERY_LENS_NOT_EXACT", R"("max_query_len": 4)",
     R"("query_lens": [4, 3, 90, 2], "seq_lens": [9, 9, 99, 9], "query_lens_exact": false)",
     "rows may move between request 0 and request 3"},
    {"WIDTH_UNSUPPORTED", R"("max_query_len": 2)",
     R"("query_lens": [2, 1, 4], "seq_lens": [9, 9, 9])", "request 2 has 4 rows, limit 2"},
    {"WIDTH_UNSUPPORTED", R"("query_lens": [1, 2, 4])",
     R"("query_lens": [2, 1, 3], "seq_lens": [9, 9, 9])",
     "request 2 has 3 rows, admitted: 1, 2, 4"},
    {"WIDTH_UNSUPPORTED", R"("query_lens": [1, 2, 4])",
     R"("query_lens": [4, 4], "seq_lens": [9, 9], "query_lens_exact": false)",
     "request 0 may have 3 rows, admitted: 1, 2, 4"},
    {"WIDTH_UNSUPPORTED", R"("max_query_len": 3)",
     R"("query_lens": [2, 4], "seq_lens": [9, 9], "query_lens_exact": false)",
     "request 0 may have 4 rows, limit 3"},
    {"GROUP_TOO_WIDE", R"("max_query_len_x_group": 32)",
     R"("query_lens": [1, 3], "seq_lens": [9, 9])",
     "request 1 has 3 rows x group of 16 = 48, limit 32"},
    {"GROUP_UNSUPPORTED", R"("groups": [1, 8])", R"("query_lens": [1], "seq_lens": [9])",
     "16 query heads per KV head, admitted: 1, 8"},
    {"GROUP_UNSUPPORTED", R"("groups": [])", R"("query_lens": [1], "seq_lens": [9])",
     "16 query heads per KV head, admitted: none"},
    {"CONTEXT_UNSUPPORTED", R"("context": "none")", R"("query_lens": [1, 1], "seq_lens": [9, 8])",
     "request 0 has 8 tokens of context, the kernel takes none"},
    {"CONTEXT_UNSUPPORTED", R"("context": "some")",
     R"("query_lens": [1, 1], "seq_lens": [9, 1], "phase": "idle")",
     "request 1 has no context, the kernel needs some"},
    {"SEQ_LENS_NOT_EXACT", R"("exact_seq_lens": true)",
     R"("query_lens": [1, 1], "seq_lens": [9, 8], "seq_len_exact": [true, false])",
     "the seq_len of request 1, 8, is only a bound"},
    {"TOO_FEW_REQUESTS", R"("min_requests": 4)", R"("query_lens": [1, 1], "seq_lens": [9, 8])",
     "2 live requests, at least 4 needed"},
    {"TOO_MANY_REQUESTS", R"("max_requests": 1)", R"("query_lens": [1, 1], "seq_lens": [9, 8])",
     "2 live requests, limit 1"},
    {"SEQ_TOO_LONG", R"("max_seq_len": 64)", R"("query_lens": [1, 1, 1], "seq_lens": [9, 65, 99])",
     "request 1 has seq_len 65, limit 64"},
    {"HEAD_SIZE_UNSUPPORTED", R"("head_sizes": [64, 128])",
     R"("query_lens": [1], "seq_lens": [9], "heads": {"head_size": 128, "v_head_size": 96})",
     "head size 128 (V: 96), admitted: 64, 128"},
    {"HEAD_SIZE_UNSUPPORTED", R"("head_sizes": [64, 192], "v_head_sizes": [64, 128])",
     R"("query_lens": [1], "seq_lens": [9], "heads": {"head_size": 64, "v_head_size": 128})",
     "head size 64 (V: 128), admitted: 64/64, 192/128"},
    {"HEAD_SIZE_UNSUPPORTED", R"("v_head_sizes": [128])", R"("query_lens": [1], "seq_lens": [9])",
     "head size 128 (V: 128), admitted: none"},
    {"ARCH_UNSUPPORTED", R"("archs": ["gfx942", "gfx950"])",
     R"("query_lens": [1], "seq_lens": [9], "device": {"arch": "sm_90"})",
     "the device is sm_90, admitted: gfx942, gfx950"},
    {"MASK_UNSUPPORTED", R"("uniform": false)",
     R"("query_lens": [1], "seq_lens": [9], "mask": "full")", "the mask is full, admitted: causal"},
    {"WINDOW_UNSUPPORTED", R"("sliding_window": false)",
     R"("query_lens": [1], "seq_lens": [9], "sliding_window": 4096)",
     "the group has a sliding window of 4096 tokens"},
    {"FEATURE_UNSUPPORTED", R"("features": ["alibi"])",
     R"("query_lens": [1], "seq_lens": [9], "features": ["sinks", "alibi", "lse"])",
     "the group needs sinks, lse, the kernel has alibi"},
    {"BLOCK_SIZE_UNSUPPORTED", R"("block_sizes": [128])",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16})",
     "blocks of 16 tokens, admitted: 128"},
    {"PAGE_SIZE_UNSUPPORTED", R"("page_sizes": [16, 64])",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 96, "page_size": 32})",
     "pages of 32 tokens, admitted: 16, 64"},
    {"PAGE_SIZE_UNSUPPORTED", R"("page_sizes": [16, 64])",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 100})",
     "no page size of 16, 64 divides the block of 100 tokens"},
    {"DTYPE_UNSUPPORTED", R"("dtypes": ["bf16", "fp16"])",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16, "cache_dtype": "fp8"})",
     "the cache is viewed as e4m3fn, admitted: bf16, fp16"},
    {"DTYPE_UNSUPPORTED", R"("scales": ["none", "token_head"])",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16, "scale": "head"})",
     "the scale of the cache is head, admitted: none, token_head"},
    {"LAYOUT_UNSUPPORTED", R"("layouts": ["nhd", "mla"])",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16, "layout": "hnd"})",
     "the layout is lbhnc, admitted: lbnhc, mla"},
    {"TILE_MISALIGNED", R"("tile_tokens": 64)",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 96})",
     "pages of 96 tokens are no multiple of the tile of 64"},
    {"OFFSET_OVERFLOW", R"("offset_limit": {"unit": "elements", "max": 1000})",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16})",
     "the last element of the cache is 18431, limit 1000"},
    {"OFFSET_OVERFLOW", R"("offset_limit": {"unit": "bytes", "max": 1000})",
     R"("query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16})",
     "the last byte of the cache is 36863, limit 1000"},
};

TEST(Explain, EveryReasonNamesWhatWasInTheWay) {
  for (const Witness& w : kWitnesses) {
    const std::string text = explanation(
        std::string(
            R"({"backend": {"name": "c", "kernels": [{"name": "fast", "route": "decode", )") +
        w.contract + R"(}, {"name": "slow", "route": "extend", "masks": ["causal", "full"], )" +
        R"("features": ["sinks", "soft_cap", "alibi", "lse"]}]}, "decode_threshold": 4, )" +
        w.batch + "}");
    const std::string note =
        std::string("        fast refused: ") + w.reason + ", " + w.sentence + "\n";
    EXPECT_NE(text.find(note), std::string::npos) << note << text;
  }
}

// Without the kernel that takes everything the batch fails, and the error says the same.
TEST(Explain, ErrorsNameWhatWasInTheWay) {
  for (const Witness& w : kWitnesses) {
    const std::string text = explanation(
        std::string(
            R"({"backend": {"name": "c", "kernels": [{"name": "fast", "route": "decode", )") +
        w.contract + R"(}]}, "decode_threshold": 4, )" + w.batch + "}");
    const std::string line = std::string("  fast refused: ") + w.reason + ", " + w.sentence + "\n";
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
    EXPECT_EQ(text.rfind("error N", 0), 0u) << text;
  }
}

// More than a message holds: what has no room keeps its name.
TEST(Explain, ErrorsThatAreCutOffStillNameEveryReason) {
  std::string kernels;
  for (char c = 'a'; c < 'm'; ++c) {
    kernels += std::string(R"({"name": "kernel_)") + c +
               R"(", "route": "decode", "block_sizes": [128], "head_sizes": [64]},)";
  }
  kernels.back() = ' ';
  const std::string text = explanation(
      R"({"backend": {"name": "c", "kernels": [)" + kernels +
      R"(]}, "query_lens": [1], "seq_lens": [9], "kv_cache": {"num_blocks": 9, "block_size": 16}})");
  EXPECT_NE(text.find("  kernel_a refused: BLOCK_SIZE_UNSUPPORTED, blocks of 16 tokens, "
                      "admitted: 128\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  kernel_l refused: HEAD_SIZE_UNSUPPORTED\n"), std::string::npos) << text;
  for (char c = 'a'; c < 'm'; ++c) {
    for (const char* reason :
         {" refused: BLOCK_SIZE_UNSUPPORTED", " refused: HEAD_SIZE_UNSUPPORTED"}) {
      const std::string name = std::string("kernel_") + c + reason;
      const size_t at = text.find(name);
      ASSERT_NE(at, std::string::npos) << name << '\n' << text;
      EXPECT_EQ(text.find(name, at + 1), std::string::npos) << name << '\n' << text;
    }
  }
}

TEST(Explain, EveryReasonHasAWitnessHere) {
  for (attnplan_reason reason = 0; reason < ATTNPLAN_NUM_REASONS; ++reason) {
    const std::string name = attnplan_reason_name(reason);
    bool found = false;
    for (const Witness& w : kWitnesses) found |= name == w.reason;
    EXPECT_TRUE(found) << name;
  }
}

// A plan of another step is refused, not misread.
TEST(Explain, OnlyThePlansOfItsStepAreExplained) {
  json::BatchDocument ours, other;
  ASSERT_FALSE(json::parse_batch(R"({"backend": "aiter_mha", "query_lens": [4, 1],
      "seq_lens": [9, 9], "decode_threshold": 4})",
                                 {"a", 1, 1}, "", ours));
  ASSERT_FALSE(json::parse_batch(R"({"backend": "aiter_mha", "query_lens": [4, 4],
      "seq_lens": [9, 9], "decode_threshold": 4})",
                                 {"b", 1, 1}, "", other));
  json::Session session;
  const json::Outcome outcome = session.plan(ours);
  ASSERT_TRUE(outcome.planned());
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  size_t bytes = 0;
  EXPECT_EQ(attnplan_plan_explain(outcome.planner, &other.step(), outcome.plan.data(),
                                  outcome.plan.size(), nullptr, &bytes, &error),
            ATTNPLAN_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "the plan is not one of this planner and step");
}

}  // namespace
}  // namespace attnplan::tool
