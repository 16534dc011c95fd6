// attnplan draw: every picture is XML, and says what the plan says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tool_process.h"

namespace attnplan::test {
namespace {

const std::string kDocs = std::string(ATTNPLAN_TEST_DATA) + "/../../docs/";

// What is not well-formed in `xml`, or "". Knows what the drawings use: elements, attributes in
// double quotes, the predefined entities.
std::string problem_of(std::string_view xml) {
  const std::set<std::string_view> entities = {"&amp;", "&lt;", "&gt;", "&quot;"};
  const auto bad_text = [&](std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x20 && c != '\n' && c != '\t' && c != '\r') return true;
      if (c == '<' || c == '>') return true;
      if (c != '&') continue;
      const size_t end = text.find(';', i);
      if (end == std::string_view::npos || !entities.count(text.substr(i, end - i + 1)))
        return true;
    }
    return false;
  };
  std::vector<std::string> open;
  size_t at = 0;
  while (at < xml.size()) {
    const size_t tag = xml.find('<', at);
    const std::string_view text = xml.substr(at, tag - at);
    if (bad_text(text)) return "text: " + std::string{text};
    if (tag == std::string_view::npos) break;
    const size_t end = xml.find('>', tag);
    if (end == std::string_view::npos) return "an open tag at the end";
    std::string_view inside = xml.substr(tag + 1, end - tag - 1);
    at = end + 1;
    if (inside.starts_with('/')) {
      if (open.empty() || open.back() != inside.substr(1)) return "closes " + std::string{inside};
      open.pop_back();
      continue;
    }
    const bool closed = inside.ends_with('/');
    if (closed) inside.remove_suffix(1);
    const size_t name_end = std::min(inside.find(' '), inside.size());
    std::set<std::string> names;
    for (std::string_view rest = inside.substr(name_end); !rest.empty();) {
      const size_t equals = rest.find("=\"");
      if (rest[0] != ' ' || equals == std::string_view::npos) return "tag " + std::string{inside};
      if (!names.emplace(rest.substr(1, equals - 1)).second) return "twice: " + std::string{rest};
      const size_t quote = rest.find('"', equals + 2);
      if (quote == std::string_view::npos) return "no quote: " + std::string{rest};
      if (bad_text(rest.substr(equals + 2, quote - equals - 2)))
        return "value: " + std::string{rest};
      rest.remove_prefix(quote + 1);
    }
    if (!closed) open.emplace_back(inside.substr(0, name_end));
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

bool has(const std::string& svg, std::string_view text) {
  return svg.find(text) != std::string::npos;
}

size_t count(std::string_view svg, std::string_view what) {
  size_t found = 0;
  for (size_t at = svg.find(what); at != std::string_view::npos; at = svg.find(what, at + 1)) {
    ++found;
  }
  return found;
}

std::string list(const std::vector<int>& values) {
  std::string text = "[";
  for (const int value : values) text += (text == "[" ? "" : ",") + std::to_string(value);
  return text + "]";
}

// Lengths and further members; every request has 1000 tokens of context.
std::string batch(const std::vector<int>& query_lens, const std::string& more = "") {
  std::vector<int> seq_lens;
  for (const int query_len : query_lens) seq_lens.push_back(query_len == 0 ? 0 : 1000 + query_len);
  return R"({"name": "b", "backend": "aiter_mha", "decode_threshold": 4, "query_lens": )" +
         list(query_lens) + R"(, "seq_lens": )" + list(seq_lens) + more + "}";
}

// The picture of one document, which must be XML whatever it shows.
std::string draw(const std::string& document, int status = 0) {
  const ToolResult result = run_tool({"draw", "-"}, document);
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(problem_of(result.out), "");
  EXPECT_TRUE(result.out.starts_with("<svg ")) << result.out.substr(0, 80);
  return result.out;
}

TEST(Xml, TheCheckFindsWhatIsBroken) {
  EXPECT_EQ(problem_of("<a b=\"1\"><c/>x &lt; y</a>"), "");
  EXPECT_NE(problem_of("<a><b></a></b>"), "");
  EXPECT_NE(problem_of("<a>"), "");
  EXPECT_NE(problem_of("<a b=\"1\" b=\"2\"/>"), "");
  EXPECT_NE(problem_of("<a>x & y</a>"), "");
  EXPECT_NE(problem_of("<a>x > y</a>"), "");
  EXPECT_NE(problem_of("<a>\x01</a>"), "");
}

TEST(Draw, SegmentsCarryKernelRouteAndMeasuredWidth) {
  const std::string svg = draw(batch({4, 4, 6, 2}));
  EXPECT_TRUE(has(svg, "decode: 2 requests, 8 rows"));
  EXPECT_TRUE(has(svg, "extend: 2 requests, 8 rows"));
  EXPECT_TRUE(has(svg, ">pa_decode_gluon<"));
  EXPECT_TRUE(has(svg, ">decode, width 4<"));
  EXPECT_TRUE(has(svg, ">extend, 2 to 6 rows<"));
  EXPECT_TRUE(has(svg, ">1002 to 1006<"));
}

TEST(Draw, OneBarARequestInTheColourOfItsRoute) {
  const std::string decode = "#1f6fb4", extend = "#e58a1f";
  const std::string two = draw(batch({4, 4, 6}));
  const std::string three = draw(batch({4, 4, 4, 6}));
  const auto bars = [](const std::string& svg, const std::string& color) {
    return count(svg, "fill=\"" + color + "\"");
  };
  EXPECT_EQ(bars(three, decode), bars(two, decode) + 2);  // query rows and KV length
  EXPECT_EQ(bars(three, extend), bars(two, extend));
}

TEST(Draw, RefusedKernelsAreNotedWithTheRequestThatCausedIt) {
  std::vector<int> lens(30, 4);
  lens.push_back(1);
  const std::string svg = draw(batch(lens));
  EXPECT_TRUE(has(svg, "pa_decode_gluon refused: RAGGED, request 30 has 1 row, request 0 has 4"));
  EXPECT_EQ(count(svg, "<polygon"), 2u);  // at the request, and at the note
}

TEST(Draw, WholeDecodesAreExplainedWherePoliciesCutThem) {
  const std::string split = draw(batch({4, 4, 2}, R"(, "options": {"ragged": "split_runs"})"));
  EXPECT_TRUE(has(split, "decode, width 4")) << split;
  EXPECT_TRUE(has(split, "decode, width 2")) << split;
  EXPECT_TRUE(has(split, "pa_decode_gluon refused: RAGGED, request 2 has 2 rows"));
  // Sorted, request 2 comes first, and the second width stands at position 1.
  const std::string sorted =
      draw(batch({2, 2, 4}, R"(, "options": {"ragged": "split_runs", "order": "sort"})"));
  EXPECT_TRUE(has(sorted, "pa_decode_gluon refused: RAGGED, position 1 has 2 rows")) << sorted;
}

TEST(Draw, PadsAndGraphPadsAreHatched) {
  const std::string plain = draw(batch({4, 4}));
  EXPECT_FALSE(has(plain, "\"url(#pad)\""));
  EXPECT_FALSE(has(plain, "\"url(#graphpad)\""));
  const std::string padded = draw(batch({4, 4, 0}));
  EXPECT_EQ(count(padded, "\"url(#pad)\""), 3u);  // legend and both charts
  EXPECT_TRUE(has(padded, "pad: 1 request<"));
  const std::string graph = draw(batch({4, 4}, R"(, "graph": {"full": [16]})"));
  EXPECT_EQ(count(graph, "\"url(#graphpad)\""), 6u);  // legend, two columns in both charts, strip
  EXPECT_TRUE(has(graph, "graph pads: 2 requests, 8 rows"));
  EXPECT_TRUE(has(graph, "Graph: full of 16 rows and 4 requests, width 4"));
}

TEST(Draw, ReadsAtAnySize) {
  for (const size_t size : {0, 1, 4, 31, 100, 2000}) {
    std::vector<int> lens(size, 4);
    if (size > 2) lens[size / 2] = 900;
    const std::string svg = draw(batch(lens));
    const bool together = size == 2000;
    EXPECT_EQ(has(svg, "a bar stands for several neighbouring requests"), together) << size;
    // Every request has a bar, until they share one.
    const size_t rects = count(svg, "<rect");
    EXPECT_TRUE(together ? rects < 1800 : rects >= 2 * size) << size << " requests, " << rects;
    EXPECT_LT(count(svg, "<text"), 450u) << size;
  }
}

TEST(Draw, AlternatingRequestsKeepTheirRoutesWhereBarsAreShared) {
  std::vector<int> lens;
  for (int i = 0; i < 1000; ++i) lens.insert(lens.end(), {4, 7});
  const std::string svg =
      draw(batch(lens, R"(, "options": {"ragged": "split_runs", "order": "sort"})"));
  EXPECT_TRUE(has(svg, "decode: 1000 requests, 4000 rows"));
  EXPECT_TRUE(has(svg, "extend: 1000 requests, 7000 rows"));
}

TEST(Draw, NamesAreEscaped) {
  const std::string svg = draw(
      R"({"name": "<script> & \"q\" \u0001 \ud83d\ude00", "backend": {"name": "<b>", "kernels": [
          {"name": "k<&>\n", "route": "extend"}]}, "query_lens": [1], "seq_lens": [5]})");
  EXPECT_TRUE(has(svg, "&lt;script&gt; &amp; &quot;q&quot; \xef\xbf\xbd \xf0\x9f\x98\x80"));
  EXPECT_TRUE(has(svg, "k&lt;&amp;&gt;"));
}

TEST(Draw, ABatchThatIsRefusedDrawsItsError) {
  const std::string refused =
      draw(R"({"name": "r", "backend": "aiter_mha", "query_lens": [4, 4], "seq_lens": [9, 3]})", 1);
  EXPECT_TRUE(has(refused, "refused: SEQ_SHORTER_THAN_QUERY"));
  EXPECT_TRUE(has(refused, "the first request to blame is 1"));
  EXPECT_FALSE(has(refused, ">segments<"));
  const std::string unroutable = draw(
      R"({"backend": {"name": "x", "kernels": [{"name": "k", "route": "decode", "uniform": true}]},
          "decode_threshold": 4, "query_lens": [4, 2], "seq_lens": [9, 9]})",
      1);
  EXPECT_TRUE(has(unroutable, "refused: NO_ROUTE"));
  EXPECT_TRUE(has(unroutable, "k refused: RAGGED, request 1 has 2 rows, request 0 has 4"));
  const std::string bad = draw(R"({"name": "<bad>", "query_lens": [4,}")", 2);
  EXPECT_TRUE(has(bad, "refused: BAD_DOCUMENT"));
  EXPECT_TRUE(has(bad, "&lt;bad&gt;"));
}

TEST(Draw, PackedCachesShowWhatIsTrimmed) {
  const std::string packed = draw(batch(
      {4},
      R"(, "kv_cache": {"num_blocks": 128, "block_size": 128, "page_size": 16, "packed": true})"));
  for (const char* text : {"8 dropped", "ids 0 to 2039", "2032 ... 2039", "K view", "V view",
                           "block 127", "block_page_stride", "max_page_id", ">2048 pages<"}) {
    EXPECT_TRUE(has(packed, text)) << text;
  }
  EXPECT_TRUE(has(packed, "\"url(#dropped)\""));
  const std::string dense =
      draw(batch({4}, R"(, "kv_cache": {"num_blocks": 2, "block_size": 128, "page_size": 16})"));
  EXPECT_FALSE(has(dense, "\"url(#dropped)\""));
  EXPECT_FALSE(has(draw(batch({4})), "K/V cache"));
}

// A pad is a hatched bar where there is room for one; in a crowd it is a tick, and leaves no gap
// among the bars.
TEST(Draw, PadsAreSeenAtAnyDensity) {
  const auto mixed = [](int requests) {
    std::vector<int32_t> query_lens;
    for (int i = 0; i < requests; ++i) query_lens.push_back(i % 5 == 3 ? 0 : 4);
    query_lens.back() = 4;
    return draw(batch(query_lens));
  };
  const std::string few = mixed(40), many = mixed(2000);
  EXPECT_TRUE(has(few, "fill=\"url(#pad)\" stroke"));
  EXPECT_FALSE(has(few, "dark ticks"));
  EXPECT_TRUE(has(few, ">extend, 4 rows<"));
  EXPECT_TRUE(has(many, "dark ticks above the KV lengths are pads between them"));
  EXPECT_TRUE(has(many, "height=\"5.00\" fill=\"#59636e\""));
  // The bars of 2000 equal requests join: no pixel of the chart is left out.
  double right = 126;
  const std::string start = "<rect x=\"", height = "height=\"130.00\" fill=\"#e58a1f\"/>";
  for (size_t at = many.find(start); at != std::string::npos; at = many.find(start, at + 1)) {
    const size_t end = many.find('\n', at);
    const std::string bar = many.substr(at, end - at);
    if (!has(bar, height)) continue;
    const double x = std::stod(bar.substr(start.size()));
    EXPECT_LE(x, right) << bar;
    right = std::max(right, x + std::stod(bar.substr(bar.find("width=\"") + 7)));
  }
  EXPECT_GT(right, 960);
}

TEST(Draw, GraphsSayWhyThereIsNone) {
  const std::string svg = draw(batch({4, 1}, R"(, "graph": {"full": [8], "piecewise": [2]})"));
  EXPECT_TRUE(has(svg, "Graph: none; the step runs without one."));
  EXPECT_TRUE(has(svg, "no full graph: gather_varlen_merge is never captured whole"));
  EXPECT_TRUE(has(svg, "no piecewise graph: "));
}

TEST(Draw, OneDocumentOfMany) {
  const TemporaryFile lines("a.jsonl", batch({1}) + "\n" + batch({1, 1}) + "\n");
  EXPECT_TRUE(has(run_tool({"draw", lines.path()}).out, "1 request, 1 row"));
  EXPECT_TRUE(has(run_tool({"draw", lines.path(), "--index", "1"}).out, "2 requests, 2 rows"));
  const ToolResult beyond = run_tool({"draw", lines.path(), "--index", "2"});
  EXPECT_EQ(beyond.status, 2);
  EXPECT_EQ(beyond.out, "");
  EXPECT_EQ(beyond.err, "attnplan: " + lines.path() + " has no document 2, it holds 2\n");
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Draw, WritesToAFile) {
  const TemporaryFile document("a.json", batch({4, 4}));
  const std::string out = document.path() + ".svg";
  const ToolResult result = run_tool({"draw", document.path(), "-o", out});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(content_of(out), run_tool({"draw", document.path(), "-o", "-"}).out);
  std::remove(out.c_str());
  EXPECT_EQ(run_tool({"draw", document.path(), "-o", "/nowhere/x.svg"}).status, 2);
  EXPECT_EQ(run_tool({"draw", "/nowhere/x.json"}).status, 2);
}

TEST(Draw, ThePictureOfTheDocumentationIsUpToDate) {
  const ToolResult result = run_tool({"draw", kDocs + "plan.json"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out == content_of(kDocs + "plan.svg"))
      << "redraw it: attnplan draw docs/plan.json -o docs/plan.svg";
}

}  // namespace
}  // namespace attnplan::test
