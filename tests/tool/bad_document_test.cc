// Every kind of document that is none, and the exact words about it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tool_process.h"

namespace attnplan::test {
namespace {

struct BadDocument {
  const char* text;
  const char* message;  // behind "bad.jsonl:<line>:"
};

constexpr BadDocument kBadDocuments[] = {
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "kv_cache": {"num_blocks": 9, "block_size": 16}, "block_table": {"columns": 1, "rows": [[99999999999]], "check_ids": false}})",
     R"(149: "block_table.rows[0][0]": 99999999999 is beyond int32)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "kv_cache": {"num_blocks": 9, "block_size": 16}, "block_table": {"indptr": [0, 99999999999], "ids": [1]}})",
     R"(139: "block_table.indptr[1]": 99999999999 is beyond int32)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "seq_len": [5]})",
     R"(60: "seq_len": unknown key, did you mean "seq_lens"?)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "query_lens": [1]})",
     R"(60: "query_lens": duplicate key)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "heads": {"num_q_heads": 1, "num_q_heads": 1}})",
     R"(88: "num_q_heads": duplicate key)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "heads": {"q_heads": 1}})",
     R"(70: "heads.q_heads": unknown key)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": "5"})",
     R"(55: "seq_lens": expected a list, got a string)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5, "6"]})",
     R"(59: "seq_lens[1]": expected an integer, got a string)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": null})",
     R"(55: "seq_lens": expected a list, got null)"},
    {R"({"backend": "unified", "query_lens": [true], "seq_lens": [5]})",
     R"(39: "query_lens[0]": expected an integer, got a boolean)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "is_prefilling": [1]})",
     R"(78: "is_prefilling[0]": expected true or false, got an integer)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "seq_lens_exact": 0})",
     R"(78: "seq_lens_exact": expected true or false, got an integer)"},
    {R"({"backend": "unified", "query_lens": [1.0], "seq_lens": [5]})",
     R"(39: "query_lens[0]": expected an integer, got a number with a fraction or an exponent)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [1e3]})",
     R"(56: "seq_lens[0]": expected an integer, got a number with a fraction or an exponent)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [9223372036854775808]})",
     R"(56: "seq_lens[0]": expected an integer, got an integer beyond int64)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [99999999999999999999999999999999999999]})",
     R"(56: "seq_lens[0]": expected an integer, got an integer beyond int64)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [1e999]})",
     R"(60: a number beyond every range)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "phase": "decode"})",
     R"(69: "phase": expected target, draft, capture or idle, got "decode")"},
    {R"({"backend": "vllm", "query_lens": [1], "seq_lens": [5]})",
     R"(13: "backend": expected aiter_mha, aiter_fa, minimax_m3_sparse, unified, hip or hip_m3, got "vllm")"},
    {R"({"backend": 3, "query_lens": [1], "seq_lens": [5]})",
     R"(13: "backend": expected the name of a profile or an object, got an integer)"},
    {R"({"backend": "unified", "query_lens": [1, 2], "seq_lens": [5]})",
     R"(58: "seq_lens": has 1 values, "query_lens" has 2)"},
    {R"({"backend": "unified", "query_start_loc": [0, 1], "seq_lens": [5, 6]})",
     R"(63: "seq_lens": has 2 values, "query_start_loc" describes 1 requests)"},
    {R"({"backend": "unified", "query_lens": [1], "query_start_loc": [0, 1], "seq_lens": [5]})",
     R"(1: has both "query_lens" and "query_start_loc", expected one of them)"},
    {R"({"backend": "unified", "seq_lens": [5]})",
     R"(1: required key "query_lens" or "query_start_loc" is missing)"},
    {R"({"backend": "unified", "query_lens": [1]})",
     R"(1: required key "seq_lens" is missing, and without "num_computed_tokens" it cannot be computed)"},
    {R"({"backend": "unified", "query_start_loc": [], "seq_lens": []})",
     R"(43: "query_start_loc": is empty, expected [0] for no requests)"},
    {R"({"query_lens": [1], "seq_lens": [5]})",
     R"(1: required key "backend" is missing, and no --backend is given)"},
    {R"({"backend": {"name": "c"}, "query_lens": [1], "seq_lens": [5]})",
     R"(13: "backend": required key "kernels" is missing)"},
    {R"({"backend": {"kernels": [{"name": "d", "route": "decode"}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(13: "backend": required key "name" is missing)"},
    {R"({"backend": {"name": "c", "kernels": []}, "query_lens": [1], "seq_lens": [5]})",
     R"(38: "backend.kernels": is empty, expected at least one contract)"},
    {R"({"backend": {"name": "c", "kernels": [{"route": "decode"}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(39: "backend.kernels[0]": required key "name" is missing)"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d"}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(39: "backend.kernels[0]": required key "route" is missing)"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "", "route": "decode"}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(48: "backend.kernels[0].name": is empty, expected a name)"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d", "route": "pad"}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(62: "backend.kernels[0].route": expected decode, extend or prefill, got "pad")"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d", "route": "decode", "uniforme": true}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(72: "backend.kernels[0].uniforme": unknown key, did you mean "uniform"?)"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d\u0000e", "route": "decode"}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(48: "backend.kernels[0].name": holds a NUL character)"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d", "route": "decode", "dtypes": ["fp8"]}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(83: "backend.kernels[0].dtypes[0]": expected bf16, fp16, uint8, e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz, got "fp8")"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d", "route": "decode", "offset_limit": {"unit": "rows", "max": 1}}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(97: "backend.kernels[0].offset_limit.unit": expected elements or bytes, got "rows")"},
    {R"({"backend": {"name": "c", "kernels": [{"name": "d", "route": "decode", "offset_limit": {"unit": "bytes"}}]}, "query_lens": [1], "seq_lens": [5]})",
     R"(88: "backend.kernels[0].offset_limit": required key "max" is missing)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "kv_cache": {"num_blocks": 4}})",
     R"(72: "kv_cache": required key "block_size" is missing)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "kv_cache": {"num_blocks": 4, "block_size": 16, "layout": "xyz"}})",
     R"(118: "kv_cache.layout": expected lbnhc, nhd, lbhnc, hnd, lhbnc, blhnc, blnhc, bhlnc or mla, got "xyz")"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"columns": 2, "rows": [[1, 2], [3, 4]]}})",
     R"(98: "block_table.rows": has 2 rows, the batch has 1 requests)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"columns": 2, "rows": [[1]]}})",
     R"(99: "block_table.rows[0]": has 1 ids, "columns" is 2)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"rows": [[1]]}})",
     R"(75: "block_table": required key "columns" is missing)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"columns": 1, "indptr": [0, 1], "ids": [1]}})",
     R"(75: "block_table": has both forms, expected "columns" and "rows", or "indptr" and "ids")"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"indptr": [0, 1]}})",
     R"(75: "block_table": required key "ids" is missing)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"indptr": [0, 1, 1], "ids": [1]}})",
     R"(86: "block_table.indptr": has 3 values, expected 2 for 1 requests)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"indptr": [1, 1], "ids": [1]}})",
     R"(86: "block_table.indptr": does not start at 0)"},
    {R"({"backend": "unified", "query_lens": [1, 1], "seq_lens": [5, 5], "block_table": {"indptr": [0, 2, 1], "ids": [1]}})",
     R"(92: "block_table.indptr": decreases from 2 to 1 at entry 2)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "block_table": {"indptr": [0, 2], "ids": [1]}})",
     R"(86: "block_table.indptr": ends at 2, "ids" has 1 values)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "slot_mapping": [1, 2]})",
     R"(76: "slot_mapping": has 2 values, the batch has 1 rows)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "options": {"work": "fixed:"}})",
     R"(80: "options.work": expected none, auto, stream_k, equal_chunks or fixed:<tokens>, got "fixed:")"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "options": {"work": "fixed:<tokens>"}})",
     R"(80: "options.work": expected a number of tokens behind "fixed:")"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "options": {"sections": ["seq_lens", "lens"]}})",
     R"(97: "options.sections[1]": expected query_start_loc, seq_lens, context_lens, row_request, row_position, page_indptr, page_indices, last_page_len, page_table, slots, chunks, window, local, context_parallel or launch, got "lens")"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "options": {"sections": "seq_lens"}})",
     R"(84: "options.sections": expected a list, got a string)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "context_parallel": {"rank": 1}})",
     R"(80: "context_parallel": required key "world" is missing)"},
    {R"({"backend": "unified", "query_lens": [1], "seq_lens": [5], "note": 1})",
     R"(68: "note": expected a string, got an integer)"},
    {R"([1, 2])", R"(1: expected an object, got a list)"},
    {R"(17)", R"(1: expected an object, got an integer)"},
    {R"("text")", R"(1: expected an object, got a string)"},
    {R"(null)", R"(1: expected an object, got null)"},
    {R"({"name": "cut", "query_lens": [1, 2)",
     R"(36: not well-formed JSON: unexpected end of input; expected ']')"},
    {R"({"name": "comma",})",
     R"(18: not well-formed JSON: unexpected '}'; expected string literal)"},
    {R"({"name": 'single'})", R"(10: not well-formed JSON: invalid literal)"},
    {R"({name: 1})", R"(3: not well-formed JSON: invalid literal; expected string literal)"},
    {R"({"name": "x"} trailing)",
     R"(17: not well-formed JSON: invalid literal; expected end of input)"},
    {R"({"name": "bad \x escape"})",
     R"(16: not well-formed JSON: invalid string: forbidden character after backslash)"},
    {R"({"name": "open)", R"(15: not well-formed JSON: invalid string: missing closing quote)"},
    {R"(// comment)", R"(1: not well-formed JSON: invalid literal)"},
    {R"({"name": "x", "query_lens": [01]})",
     R"(31: not well-formed JSON: unexpected number literal; expected ']')"},
    {R"({"name": "x", "query_lens": [NaN]})", R"(30: not well-formed JSON: invalid literal)"},
};

std::string all_texts() {
  std::string texts;
  for (const BadDocument& bad : kBadDocuments) texts += std::string(bad.text) + "\n";
  return texts;
}

TEST(BadDocument, MessageNamesFileLineColumnKeyAndWhatWasExpected) {
  const TemporaryFile file("bad.jsonl", all_texts());
  const ToolResult result = run_tool({"plan", file.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "");
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), std::size(kBadDocuments));
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto plan = nlohmann::json::parse(lines[i]);
    const auto& error = plan.at("error");
    EXPECT_EQ(error.at("code"), "BAD_DOCUMENT") << kBadDocuments[i].text;
    EXPECT_TRUE(error.at("request").is_null());
    const std::string where = file.path() + ":" + std::to_string(i + 1) + ":";
    EXPECT_EQ(error.at("message"), where + kBadDocuments[i].message) << kBadDocuments[i].text;
    EXPECT_EQ(plan.size(), 2u) << "with an error no other key but the name";
  }
}

// A document among them is answered all the same, in its place.
TEST(BadDocument, NeighboursAreStillAnswered) {
  const std::string good =
      R"({"name": "good", "backend": "unified", "query_lens": [1], "seq_lens": [5]})";
  for (const BadDocument& bad : kBadDocuments) {
    const TemporaryFile file("mixed.jsonl", good + "\n" + bad.text + "\n" + good + "\n");
    const ToolResult result = run_tool({"plan", file.path()});
    EXPECT_EQ(result.status, 2);
    const std::vector<std::string> lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), 3u) << bad.text;
    EXPECT_EQ(lines[0], lines[2]);
    EXPECT_NE(lines[0].find("\"error\":null"), std::string::npos);
    EXPECT_NE(lines[1].find("BAD_DOCUMENT"), std::string::npos);
  }
}

TEST(BadDocument, BytesThatAreNoTextGiveAValidAnswer) {
  const std::string texts[] = {std::string("{\"name\": \"\xff\xfe\"}"),
                               std::string("{\"a\0b\": 1}", 10),
                               std::string("{}\0", 3),
                               std::string("{}\0{}", 5),
                               std::string("\0", 1),
                               std::string(3 << 20, '\xff'),
                               std::string(1 << 20, '['),
                               "{\"" + std::string(3 << 20, 'k') + "\": 1}",
                               "{\"note\": \"" + std::string(3 << 20, 'n') + "\"}",
                               "{\"phase\": \"" + std::string(1 << 20, 'p') + "\"}",
                               "{\"query_lens\": [" + std::string(1 << 20, '9') + "]}"};
  for (const std::string& text : texts) {
    const TemporaryFile file("odd.jsonl", text);
    const ToolResult result = run_tool({"plan", file.path()});
    EXPECT_EQ(result.status, 2) << text.substr(0, 40);
    const auto plan = nlohmann::json::parse(result.out);  // throws where it is no valid UTF-8
    EXPECT_EQ(plan.at("error").at("code"), "BAD_DOCUMENT");
    EXPECT_LT(result.out.size(), 1000u);
  }
}

// Keys of a million members are compared without a million squared steps.
TEST(BadDocument, ManyKeysAreFast) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) text += "\"k" + std::to_string(i) + "\": 1, ";
  const TemporaryFile file("keys.json", text + "\"k7\": 1}");
  const ToolResult result = run_tool({"plan", file.path()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.out.find("\\\"k7\\\": duplicate key"), std::string::npos) << result.out;
}

// A document that the file's end cuts at any byte.
TEST(BadDocument, NoTruncationCrashes) {
  const std::string whole =
      R"({"name": "cut \u00e9\n", "note": "n", "phase": "draft", "decode_threshold": 4, )"
      R"("backend": {"name": "c", "kernels": [{"name": "d", "route": "decode", "uniform": true, )"
      R"("query_lens": [1, 2], "archs": ["gfx950"], "offset_limit": {"unit": "bytes", "max": -12}}]}, )"
      R"("query_lens": [1, 0], "seq_lens": [5, 0], "is_prefilling": [false, true], )"
      R"("kv_cache": {"num_blocks": 9, "block_size": 16}, )"
      R"("block_table": {"columns": 1, "rows": [[3], [4]]}, "options": {"sections": ["seq_lens"]}, )"
      R"("expect": {"error": null, "x": [1.5e3, {}]}})";
  std::string prefixes;
  for (size_t size = 1; size < whole.size(); ++size) prefixes += whole.substr(0, size) + "\n";
  const TemporaryFile file("cut.jsonl", prefixes);
  const ToolResult result = run_tool({"plan", file.path()});
  EXPECT_EQ(result.status, 2);
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), whole.size() - 1);
  for (const std::string& line : lines) {
    EXPECT_NE(line.find("not well-formed JSON"), std::string::npos) << line;
  }
  const ToolResult complete = run_tool({"plan", "-"}, whole);
  EXPECT_NE(complete.status, 2) << complete.out;
}

}  // namespace
}  // namespace attnplan::test
