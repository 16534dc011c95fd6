// attnplan ragged: figures that can be counted by hand, and those of the documentation.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tool_process.h"

namespace attnplan::test {
namespace {

const std::string kData = ATTNPLAN_TEST_DATA;

using Cells = std::vector<std::string>;

// Cells of a Markdown table's lines, by their first four columns. The title and the rule are left
// out.
std::map<std::string, Cells> table_of(const std::string& markdown) {
  std::map<std::string, Cells> table;
  const auto lines = lines_of(markdown);
  for (size_t i = 2; i < lines.size(); ++i) {
    Cells cells;
    std::istringstream line(lines[i].substr(2));
    for (std::string word, cell; line >> word;) {
      if (word == "|") {
        cells.push_back(cell);
        cell.clear();
      } else {
        cell += (cell.empty() ? "" : " ") + word;
      }
    }
    const std::string key = cells[1] + "/" + cells[2] + "/" + cells[3];
    table[key] = Cells(cells.begin() + 4, cells.end());
  }
  return table;
}

TEST(Ragged, CountsRowsOfDecodesThatStay) {
  // Decodes: 4 + 4 + 1 + 4 = 13 rows of the first step, 8 of the second; an extend behind them, and
  // a decode (2 rows) behind that, which only sorting brings to the front.
  const TemporaryFile trace(
      "t.jsonl",
      R"({"name": "a", "decode_threshold": 4, "query_lens": [4, 4, 1, 4, 9, 2], "seq_lens": [50, 50, 50, 50, 50, 50]}
{"name": "b", "decode_threshold": 4, "query_lens": [4, 4], "seq_lens": [50, 50]}
{"name": "c", "phase": "draft", "decode_threshold": 4, "query_lens": [3, 2], "seq_lens": [50, 50]}
)");
  const ToolResult result = run_tool({"ragged", "--markdown", trace.path()});
  EXPECT_EQ(result.status, 0) << result.err;
  const auto table = table_of(result.out);
  ASSERT_EQ(table.size(), 16u) << result.out;
  // Kept rows of 23 = 15 + 8; decode segments, most, all segments, most.
  EXPECT_EQ(table.at("2 verify/as_given/demote"), (Cells{"34.8%", "0.5", "1", "1.0", "1"}));
  EXPECT_EQ(table.at("2 verify/as_given/uniform_prefix"), (Cells{"69.6%", "1.0", "1", "1.5", "2"}));
  EXPECT_EQ(table.at("2 verify/as_given/split_runs"), (Cells{"91.3%", "2.0", "3", "2.5", "4"}));
  EXPECT_EQ(table.at("2 verify/sort/demote"), (Cells{"34.8%", "0.5", "1", "1.0", "1"}));
  EXPECT_EQ(table.at("2 verify/sort/uniform_prefix"), (Cells{"87.0%", "1.0", "1", "1.5", "2"}));
  EXPECT_EQ(table.at("2 verify/sort/split_runs"), (Cells{"100.0%", "2.0", "3", "2.5", "4"}));
  EXPECT_EQ(table.at("1 draft/as_given/uniform_prefix"), (Cells{"60.0%", "1.0", "1", "2.0", "2"}));
  EXPECT_EQ(table.at("1 draft/sort/split_runs"), (Cells{"100.0%", "2.0", "2", "2.0", "2"}));
  for (const auto& [key, cells] : table) EXPECT_EQ(cells.size(), 5u) << key;
}

TEST(Ragged, BackendIsForTracesThatNameNone) {
  const TemporaryFile trace("t.jsonl", R"({"query_lens": [1, 1], "seq_lens": [5, 5]})");
  const auto kept = [&](const std::string& backend) {
    return table_of(run_tool({"ragged", "--markdown", "--backend", backend, trace.path()}).out)
        .at("1 verify/as_given/demote")
        .at(0);
  };
  EXPECT_EQ(kept("aiter_mha"), "100.0%");
  EXPECT_EQ(kept("unified"), "0.0%");  // it has no decode kernel
}

// The documents that every other command takes: over several lines, and from standard input.
TEST(Ragged, ReadsWhatTheOthersRead) {
  const std::string first = R"({"query_lens": [1, 1], "seq_lens": [5, 5]})";
  const std::string second = "{\n  \"query_lens\": [1],\n  \"seq_lens\": [7]\n}\n";
  const TemporaryFile lines("t.jsonl", first + "\n" + R"({"query_lens": [1], "seq_lens": [7]})");
  const TemporaryFile values("t.json", first + second);
  const ToolResult expected = run_tool({"ragged", lines.path()});
  EXPECT_EQ(expected.status, 0);
  EXPECT_NE(expected.out.find("2 verify"), std::string::npos) << expected.out;
  EXPECT_EQ(run_tool({"ragged", values.path()}).out, expected.out);
  const ToolResult piped = run_tool({"ragged", "--markdown", "-"}, first + second);
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_NE(piped.out.find("| stdin | 2 verify |"), std::string::npos) << piped.out;
}

TEST(Ragged, PlainTableHasTheSameFigures) {
  const std::string trace = kData + "/traces/code_plain.jsonl";
  const std::string markdown = run_tool({"ragged", "--markdown", trace}).out;
  const std::string plain = run_tool({"ragged", trace}).out;
  EXPECT_EQ(lines_of(plain).size() + 1, lines_of(markdown).size());
  EXPECT_NE(plain.find("uniform_prefix"), std::string::npos);
}

TEST(Ragged, Errors) {
  const TemporaryFile refused("r.jsonl", R"({"name": "r", "query_lens": [4], "seq_lens": [3]})");
  EXPECT_EQ(run_tool({"ragged", refused.path()}).status, 1);
  EXPECT_EQ(run_tool({"ragged", refused.path()}).err,
            "attnplan: " + refused.path() +
                ":1:1: r: request 0 has seq_len 3, shorter than its 4 query rows\n");
  // What the C structs would take for "default".
  const ToolResult zero =
      run_tool({"ragged", "-"}, R"({"decode_threshold": 0, "query_lens": [1], "seq_lens": [3]})");
  EXPECT_EQ(zero.status, 1);
  EXPECT_EQ(zero.err, "attnplan: stdin:1:22: \"decode_threshold\" is 0, it must be at least 1\n");
  const ToolResult contradiction = run_tool(
      {"ragged", "-"}, R"({"query_lens": [1], "seq_lens": [3], "options": {"layout": "fixed"}})");
  EXPECT_EQ(contradiction.status, 2);
  EXPECT_EQ(contradiction.err,
            "attnplan: stdin:1:60: \"options.layout\": a fixed layout needs max_num_seqs\n");
  const TemporaryFile bad("b.jsonl", "{\n");
  EXPECT_EQ(run_tool({"ragged", bad.path()}).status, 2);
  const ToolResult missing = run_tool({"ragged", "/nowhere/x.jsonl"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("/nowhere/x.jsonl"), std::string::npos);
}

TEST(Ragged, TheTableOfTheDocumentationIsUpToDate) {
  const ToolResult result = run_tool({"ragged", "--markdown", kData + "/traces/code_plain.jsonl",
                                      kData + "/traces/conversation_eagle3.jsonl"});
  EXPECT_EQ(result.status, 0);
  std::ifstream file(kData + "/../../docs/ragged.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(result.out), std::string::npos) << result.out;
}

}  // namespace
}  // namespace attnplan::test
