// The command line: exit statuses, inputs, forms of the answer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tool_process.h"

namespace attnplan::test {
namespace {

const std::string kGood =
    R"({"name": "good", "backend": "aiter_mha", "decode_threshold": 4, "query_lens": [4, 4], "seq_lens": [9, 9]})";
const std::string kRefused =
    R"({"name": "refused", "backend": "aiter_mha", "query_lens": [4], "seq_lens": [3]})";
const std::string kBad = R"({"name": "bad", "backend": "aiter_mha", "query_lens": [4]})";
const std::string kKvCases = std::string(ATTNPLAN_TEST_DATA) + "/cases/kv_cache.jsonl";
const std::string kTrace = std::string(ATTNPLAN_TEST_DATA) + "/traces/conversation_eagle3.jsonl";

std::vector<std::string> names_of(const std::string& answers) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(answers)) {
    names.push_back(nlohmann::json::parse(line).at("name"));
  }
  return names;
}
using Names = std::vector<std::string>;

TEST(Plan, ExitStatusIsThatOfTheWorstDocument) {
  EXPECT_EQ(run_tool({"plan", "-"}, kGood).status, 0);
  EXPECT_EQ(run_tool({"plan", "-"}, kRefused).status, 1);
  EXPECT_EQ(run_tool({"plan", "-"}, kBad).status, 2);
  EXPECT_EQ(run_tool({"plan", "-"}, kGood + kRefused + kGood).status, 1);
  EXPECT_EQ(run_tool({"plan", "-"}, kBad + kRefused + kGood).status, 2);
}

TEST(Plan, EveryDocumentIsAnsweredInOrderOneLineEach) {
  const ToolResult result = run_tool({"plan", "-"}, kGood + kBad + "\n" + kRefused + kGood);
  EXPECT_EQ(names_of(result.out), (Names{"good", "bad", "refused", "good"}));
  EXPECT_EQ(result.err, "");
}

TEST(Plan, SeveralFilesAndStandardInput) {
  const TemporaryFile lines("a.jsonl", kGood + "\n" + kRefused + "\n");
  const TemporaryFile value("b.json", "\n" + kBad + "\n");
  const ToolResult result = run_tool({"plan", lines.path(), "-", value.path()}, kGood);
  EXPECT_EQ(names_of(result.out), (Names{"good", "refused", "good", "bad"}));
  EXPECT_EQ(result.status, 2);
}

TEST(Plan, AFileThatCannotBeReadDoesNotStopTheOthers) {
  const TemporaryFile lines("a.jsonl", kGood + "\n");
  const ToolResult result =
      run_tool({"plan", "/nowhere/x.jsonl", lines.path(), ATTNPLAN_TEST_DATA});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(names_of(result.out), Names{"good"});
  EXPECT_EQ(result.err,
            "attnplan: cannot read /nowhere/x.jsonl: No such file or directory\n"
            "attnplan: cannot read " ATTNPLAN_TEST_DATA ": Is a directory\n");
}

// An input that was lost on its way is no success.
TEST(Plan, AFileWithoutDocumentsIsUnusable) {
  const TemporaryFile empty("empty.json", "");
  const TemporaryFile blank("blank.jsonl", "\n \r\n\n");
  const TemporaryFile mark("mark.json", "\xEF\xBB\xBF\n");
  for (const std::string command : {"plan", "run", "kv", "draw", "ragged"}) {
    for (const TemporaryFile* file : {&empty, &blank, &mark}) {
      const ToolResult result = run_tool({command, file->path()});
      EXPECT_EQ(result.status, 2) << command;
      EXPECT_EQ(result.out, "") << command;
      EXPECT_EQ(result.err, "attnplan: " + file->path() + " holds no document\n") << command;
    }
    const ToolResult result = run_tool({command, "-"}, "");
    EXPECT_EQ(result.status, 2) << command;
    EXPECT_EQ(result.err, "attnplan: stdin holds no document\n") << command;
  }
  const TemporaryFile good("good.json", kGood);
  const ToolResult mixed = run_tool({"plan", good.path(), empty.path(), good.path()});
  EXPECT_EQ(mixed.status, 2);
  EXPECT_EQ(names_of(mixed.out), (Names{"good", "good"}));
}

// Whatever the ending of the file, and from standard input.
TEST(Plan, AByteOrderMarkIsNoPartOfADocument) {
  const std::string marked = "\xEF\xBB\xBF" + kGood + "\n";
  const std::string plain = run_tool({"plan", "-"}, kGood).out;
  const TemporaryFile lines("marked.jsonl", marked), value("marked.json", marked);
  EXPECT_EQ(run_tool({"plan", "-"}, marked).out, plain);
  EXPECT_EQ(run_tool({"plan", lines.path()}).out, plain);
  EXPECT_EQ(run_tool({"plan", value.path()}).out, plain);
}

TEST(Plan, BackendIsForDocumentsThatNameNone) {
  const std::string open = R"({"name": "open", "query_lens": [1], "seq_lens": [5]})";
  const ToolResult without = run_tool({"plan", "-"}, open);
  EXPECT_EQ(without.status, 2);
  const ToolResult with = run_tool({"plan", "--backend", "minimax_m3_sparse", "-"}, open + kGood);
  EXPECT_EQ(with.status, 0);
  const auto lines = lines_of(with.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("m3_decode"), std::string::npos);
  EXPECT_NE(lines[1].find("pa_decode_gluon"), std::string::npos);
}

TEST(Plan, PlannersAreKeptOnlyForEqualConfigurations) {
  const std::string open = R"({"query_lens": [4], "seq_lens": [9]})";
  const std::string wide = R"({"decode_threshold": 4, "query_lens": [4], "seq_lens": [9]})";
  const ToolResult result = run_tool({"plan", "--backend", "aiter_mha", "-"}, open + wide + open);
  const auto lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], lines[2]);
  EXPECT_NE(lines[0].find("\"routes\":[\"extend\"]"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("\"routes\":[\"decode\"]"), std::string::npos) << lines[1];
}

TEST(Plan, PrettyHasTheSameContent) {
  const ToolResult compact = run_tool({"plan", "-"}, kGood);
  const ToolResult pretty = run_tool({"plan", "--pretty", "-"}, kGood);
  EXPECT_EQ(nlohmann::ordered_json::parse(pretty.out), nlohmann::ordered_json::parse(compact.out));
  EXPECT_GT(lines_of(pretty.out).size(), 10u);
  for (const std::string& line : lines_of(pretty.out)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Plan, KeysComeAsDocumented) {
  const ToolResult result = run_tool({"plan", "-"}, R"({"name": "n", "backend": "aiter_mha",
      "query_lens": [1, 5], "seq_lens": [5, 5], "kv_cache": {"num_blocks": 9, "block_size": 16},
      "options": {"order": "sort", "sections": ["seq_lens"]}})");
  const auto plan = nlohmann::ordered_json::parse(result.out);
  Names keys;
  for (const auto& [key, value] : plan.items()) keys.push_back(key);
  EXPECT_EQ(keys, (Names{"name", "error", "routes", "order", "segments", "num_decodes",
                         "num_extends", "num_prefills", "num_pads", "num_decode_tokens",
                         "num_extend_tokens", "num_prefill_tokens", "max_query_len",
                         "ragged_policy", "warnings", "kv_view", "hash", "sections"}));
  keys.clear();
  for (const auto& [key, value] : plan.at("segments").at(0).items()) keys.push_back(key);
  EXPECT_EQ(keys, (Names{"route",
                         "kernel",
                         "req_begin",
                         "req_end",
                         "row_begin",
                         "row_end",
                         "width",
                         "max_query_len",
                         "min_query_len",
                         "max_seq_len",
                         "min_seq_len",
                         "sum_seq_lens",
                         "max_context_len",
                         "min_context_len",
                         "sum_context_lens",
                         "exact_query_lens",
                         "exact_seq_lens",
                         "page_size",
                         "label",
                         "reasons"}));
  EXPECT_EQ(plan.at("hash").get<std::string>().find_first_not_of("0123456789abcdef"),
            std::string::npos);
  EXPECT_EQ(plan.at("hash").get<std::string>().size(), 32u);
}

TEST(Plan, ErrorsCarryTheReasonsInProfileOrder) {
  const ToolResult result = run_tool({"plan", "-"}, R"({"backend": "aiter_mha",
      "query_lens": [8, 5], "seq_lens": [108, 105], "decode_threshold": 9,
      "seq_lens_exact": false})");
  const auto error = nlohmann::json::parse(result.out).at("error");
  EXPECT_EQ(error.at("code"), "NEED_EXACT_SEQ_LENS");
  EXPECT_EQ(error.at("reasons"),
            (Names{"pa_decode_gluon: RAGGED", "pa_decode_gluon: WIDTH_UNSUPPORTED",
                   "pa_decode_gluon: GROUP_TOO_WIDE", "gather_varlen_merge: SEQ_LENS_NOT_EXACT",
                   "varlen_causal: CONTEXT_UNSUPPORTED"}));
  EXPECT_EQ(error.at("requests"), (std::vector<int>{0, 1}));
}

// What the library refuses as an argument is the document's fault here, and the message says where.
TEST(Plan, ContradictoryOptionsAreABadDocument) {
  struct Case {
    std::string members;
    const char* value;  // where the message points
    const char* message;
  };
  const std::string cache = R"("kv_cache": {"num_blocks": 9, "block_size": 16}, )";
  const Case cases[] = {
      {R"("options": {"sections": ["seq_lens", "local"]})", R"("local")",
       R"("options.sections[1]": local needs "local_attention_chunk")"},
      {R"("local_attention_chunk": 0, "options": {"sections": ["local"]})", R"("local")",
       R"("options.sections[0]": local needs "local_attention_chunk")"},
      {R"("options": {"sections": ["page_table"]})", R"("page_table")",
       R"("options.sections[0]": page_table needs "kv_cache")"},
      {R"("options": {"sections": ["launch"], "layout": "fixed"})", R"("fixed")",
       R"("options.layout": a fixed layout needs max_num_seqs)"},
      {R"("limits": {"max_num_seqs": 1}, "options": {"layout": "fixed"})", R"("fixed")",
       R"("options.layout": a fixed layout needs max_num_batched_tokens)"},
      {cache + R"("options": {"sections": ["page_table"]})", "[",
       R"("options.sections": page sections need the ids of a block table)"},
      {cache + R"("options": {"sections": ["slots"]})", "[",
       R"("options.sections": section slots needs a slot_mapping or the ids of a block table)"},
  };
  for (const Case& c : cases) {
    const ToolResult result = run_tool(
        {"plan", "-"},
        "{\"backend\": \"unified\", \"query_lens\": [1], \"seq_lens\": [5],\n" + c.members + "}");
    EXPECT_EQ(result.status, 2);
    const auto error = nlohmann::json::parse(lines_of(result.out).at(0)).at("error");
    EXPECT_EQ(error.at("code"), "BAD_DOCUMENT");
    const std::string column = std::to_string(c.members.find(c.value) + 1);
    EXPECT_EQ(error.at("message"), "stdin:2:" + column + ": " + c.message) << c.members;
  }
}

// Refused before memory is asked for; the limits that the layout follows are named.
TEST(Plan, AFixedLayoutOfAbsurdLimitsIsRefusedInWords) {
  const ToolResult result = run_tool({"plan", "-"}, R"({"backend": "unified", "query_lens": [1],
      "seq_lens": [5], "kv_cache": {"num_blocks": 9, "block_size": 16},
      "block_table": {"columns": 1, "rows": [[3]]}, "options": {"sections": ["page_table"],
      "layout": "fixed"}, "limits": {"max_num_seqs": 50000, "max_num_batched_tokens": 9000,
      "max_model_len": 4000000}})" + kGood);
  EXPECT_EQ(result.status, 1);
  const auto error = nlohmann::json::parse(lines_of(result.out).at(0)).at("error");
  EXPECT_EQ(error.at("code"), "CAPACITY_EXCEEDED");
  EXPECT_GT(error.at("value"), int64_t{50000} * 250000 * 4);
  EXPECT_EQ(error.at("limit"), int64_t{4} << 30);
  const std::string message = error.at("message");
  EXPECT_NE(message.find("the fixed layout has room for max_num_seqs 50000 and "
                         "max_model_len 4000000"),
            std::string::npos)
      << message;
  EXPECT_EQ(nlohmann::json::parse(lines_of(result.out).at(1)).at("name"), "good");
}

// Nothing that was lost counts as printed.
TEST(Output, AFullDiskIsAnError) {
  const TemporaryFile good("good.json", kGood);
  const std::string data = ATTNPLAN_TEST_DATA;
  const std::vector<std::vector<std::string>> all = {{"plan", good.path()},
                                                     {"run", "--quick", good.path()},
                                                     {"kv", kKvCases},
                                                     {"draw", good.path()},
                                                     {"ragged", good.path()},
                                                     {"demo", "--data", data},
                                                     {"--help"}};
  for (const auto& arguments : all) {
    const ToolResult result = run_tool_into("/dev/full", arguments);
    EXPECT_EQ(result.status, 2) << arguments[0];
    EXPECT_EQ(result.err, "attnplan: cannot write: No space left on device\n") << arguments[0];
  }
}

TEST(Plan, AClosedPipeEndsItQuietly) {
  const ToolResult result = interrupt_tool({"plan", "--backend", "aiter_mha", kTrace, kTrace}, 100);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.status, 0);
}

TEST(Arguments, UnusableOnesExitWithTwo) {
  const std::vector<std::vector<std::string>> all = {{},
                                                     {"plan"},
                                                     {"frobnicate"},
                                                     {"plan", "--frobnicate", "-"},
                                                     {"plan", "--backend", "vllm", "-"},
                                                     {"plan", "--pretty", "--explain", "-"},
                                                     {"run", "--seed", "x", "-"},
                                                     {"demo"},
                                                     {"demo", "--data", "/nowhere"},
                                                     {"run", "--max-rows", "-1", "-"},
                                                     {"run", "--seed", "-1", "-"},
                                                     {"run", "--seed", "18446744073709551616", "-"},
                                                     {"draw", "--index", "-1", "-"},
                                                     {"draw", "--index", "1.5", "-"}};
  for (const auto& arguments : all) {
    const ToolResult result = run_tool(arguments);
    EXPECT_EQ(result.status, 2) << (arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
    EXPECT_LT(result.err.size(), 300u) << result.err;
  }
}

TEST(Arguments, SlipsGetASuggestion) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> all = {
      {{"paln", "-"}, "no command \"paln\", did you mean \"plan\"?\n"},
      {{"frobnicate"}, "no command \"frobnicate\", there are plan, run, "},
      {{"plan", "--explian", "-"}, "did you mean \"--explain\"?\n"},
      {{"ragged", "--backnd=unified", "-"}, "did you mean \"--backend\"?\n"},
      {{"--verison"}, "did you mean \"--version\"?\n"}};
  for (const auto& [arguments, hint] : all) {
    const ToolResult result = run_tool(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find(hint), std::string::npos) << result.err;
  }
  EXPECT_EQ(run_tool({"plan", "--frobnicate", "-"}).err.find("did you mean"), std::string::npos);
}

TEST(Arguments, HelpShowsExamples) {
  const ToolResult help = run_tool({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* const word : {"plan", "run", "bench", "demo", "Examples:", "--explain"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(run_tool({"plan", "--help"}).status, 0);
  EXPECT_EQ(run_tool({"--version"}).out.substr(0, 9), "attnplan ");
}

TEST(Run, PrintsThePlanAndTheLargestError) {
  const ToolResult result = run_tool({"run", "--quick", "-"}, kGood + kRefused);
  EXPECT_EQ(result.status, 1);
  const auto lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 2u);
  const auto good = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(good.at("routes").size(), 2u);
  const auto& run = good.at("run");
  EXPECT_EQ(run.at("ok"), true);
  EXPECT_EQ(run.at("rows"), 8);
  EXPECT_EQ(run.at("rows_written"), 8);
  EXPECT_LT(run.at("max_error").get<double>(), 1e-9);
  EXPECT_GT(run.at("max_error").get<double>(), 0);
  EXPECT_FALSE(nlohmann::json::parse(lines[1]).contains("run"));
}

TEST(Run, ExplainsForAPerson) {
  const ToolResult result = run_tool({"run", "--quick", "--explain", "-"}, kGood);
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("pa_decode_gluon"), std::string::npos);
  EXPECT_NE(result.out.find("executed 8 of 8 rows over up to 9 tokens: largest error "),
            std::string::npos)
      << result.out;
}

TEST(Run, OtherSeedsGiveOtherErrors) {
  const auto error_of = [](const char* seed) {
    const ToolResult result = run_tool({"run", "--seed", seed, "-"}, kGood);
    return nlohmann::json::parse(result.out).at("run").at("max_error").get<double>();
  };
  EXPECT_EQ(error_of("7"), error_of("7"));
  EXPECT_NE(error_of("7"), error_of("8"));
}

TEST(Demo, ShowsEveryScenario) {
  const ToolResult result = run_tool({"demo", "--data", ATTNPLAN_TEST_DATA});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  for (const char* const text :
       {"(a) ", "(b) ", "(c) ", "(d) ", "(e) ", "m3_prefill", "200 verify steps", "200 draft steps",
        "pa_decode_gluon: RAGGED", "ns a step", "largest error",
        "pa_decode_gluon refused: RAGGED, request 30 has 1 row, request 0 has 4"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(result.out.find("WRONG"), std::string::npos);
  EXPECT_EQ(result.out.find('\r'), std::string::npos) << "a progress bar that is on no terminal";
}

}  // namespace
}  // namespace attnplan::test
