// attnplan kv: the views that plans carry, without a batch.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tool_process.h"

namespace attnplan::test {
namespace {

using Json = nlohmann::json;

const std::string kCases = std::string(ATTNPLAN_TEST_DATA) + "/cases/kv_cache.jsonl";
constexpr const char* kPacked =
    R"({"kv_cache": {"layout": "lbhnc", "packed": true, "num_blocks": 128, "block_size": 128,
        "page_size": 16, "cache_dtype": "fp8"}})";

Json view_of(const std::string& document, int status = 0) {
  const ToolResult result = run_tool({"kv", "-"}, document);
  EXPECT_EQ(result.status, status) << result.out;
  EXPECT_EQ(lines_of(result.out).size(), 1u);
  return Json::parse(result.out);
}

TEST(Kv, EveryCaseHasTheViewOfItsPlan) {
  const auto views = lines_of(run_tool({"kv", kCases}).out);
  const auto plans = lines_of(run_tool({"plan", kCases}).out);
  ASSERT_EQ(views.size(), plans.size());
  size_t resolved = 0;
  for (size_t i = 0; i < views.size(); ++i) {
    Json view = Json::parse(views[i]);
    const Json plan = Json::parse(plans[i]);
    EXPECT_EQ(view.at("name"), plan.at("name"));
    EXPECT_EQ(view.at("error"), plan.at("error"));
    if (!plan.contains("kv_view")) continue;
    ++resolved;
    const Json& segment = plan.at("segments").at(0);
    const Json& kernel = view.at("kernels").at(0);
    EXPECT_EQ(kernel.at("page_size"), segment.at("page_size")) << views[i];
    EXPECT_EQ(kernel.at("label"), segment.at("label")) << views[i];
    for (const char* key : {"name", "error", "kernels"}) view.erase(key);
    EXPECT_EQ(view, plan.at("kv_view"));
  }
  EXPECT_GT(resolved, 5u);
}

TEST(Kv, ACacheAloneIsEnough) {
  const Json view = view_of(kPacked);
  EXPECT_EQ(view.at("k_pages"), 2048);
  EXPECT_EQ(view.at("v_pages"), 2040);
  EXPECT_EQ(view.at("pages"), 2040);
  EXPECT_EQ(view.at("dropped_k_pages"), 8);
  EXPECT_EQ(view.at("max_page_id"), 2039);
  EXPECT_EQ(view.at("block_page_stride"), 16);
  EXPECT_EQ(view.at("kernels").at(0).at("kernel"), "unified_attention");
  EXPECT_EQ(view.at("kernels").at(0).at("label"), "e4m3fn");
  const Json mi300 = view_of(
      R"({"name": "n", "device": {"arch": "gfx942"}, "backend": "aiter_mha",
          "heads": {"num_kv_heads": 2, "head_size": 64},
          "kv_cache": {"num_blocks": 16, "block_size": 128, "cache_dtype": "fp8"}})");
  EXPECT_EQ(mi300.at("name"), "n");
  EXPECT_EQ(mi300.at("view_dtype"), "e4m3fnuz");
  EXPECT_EQ(mi300.at("block_stride"), 2 * 64 * 128);
}

TEST(Kv, EveryKernelHasItsPageSize) {
  const ToolResult result = run_tool({"kv", "--backend", "aiter_fa", "-"},
                                     R"({"kv_cache": {"num_blocks": 16, "block_size": 2112}})");
  const Json kernels = Json::parse(result.out).at("kernels");
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[0].at("kernel"), "pa_decode_gluon");
  EXPECT_EQ(kernels[0].at("page_size"), 64);  // the largest of 16, 64, 1024 that divides the block
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(kernels[i].at("page_size"), 2112) << kernels[i];
  for (const Json& kernel : kernels) EXPECT_EQ(kernel.at("reasons"), Json::array()) << kernel;
}

TEST(Kv, KernelsThatCannotServeSayWhy) {
  const Json view = view_of(
      R"({"backend": "aiter_mha", "device": {"arch": "gfx1100"},
          "kv_cache": {"num_blocks": 16, "block_size": 100}})");
  const Json& decode = view.at("kernels").at(0);
  EXPECT_EQ(decode.at("page_size"), nullptr);
  EXPECT_EQ(decode.at("label"), nullptr);
  EXPECT_EQ(decode.at("reasons"), Json({"ARCH_UNSUPPORTED", "PAGE_SIZE_UNSUPPORTED"}));
  EXPECT_EQ(view.at("kernels").at(1).at("page_size"), 100);
}

TEST(Kv, OwnKernelsAreAskedOneByOne) {
  // The second hides behind the first, the third serves no batch of one row, the fourth no cache
  // of this layout.
  const Json view = view_of(
      R"({"backend": {"name": "own", "kernels": [
            {"name": "any", "route": "extend"},
            {"name": "raw", "route": "extend", "dtype_label": "storage", "page_sizes": [16, 32]},
            {"name": "many", "route": "decode", "uniform": true, "min_requests": 9,
             "query_lens": [3], "context": "some", "page_sizes": [64]},
            {"name": "planes", "route": "prefill", "layouts": ["lhbnc"]}]},
          "kv_cache": {"num_blocks": 16, "block_size": 4192, "cache_dtype": "fp8"}})");
  const Json& kernels = view.at("kernels");
  EXPECT_EQ(kernels[0].at("page_size"), 4192);
  EXPECT_EQ(kernels[0].at("label"), "e4m3fn");
  EXPECT_EQ(kernels[1].at("page_size"), 32);
  EXPECT_EQ(kernels[1].at("label"), "uint8");
  EXPECT_EQ(kernels[2].at("reasons"), Json({"PAGE_SIZE_UNSUPPORTED"}));  // 4192 = 65 * 64 + 32
  EXPECT_EQ(kernels[3].at("reasons"), Json({"LAYOUT_UNSUPPORTED"}));
}

TEST(Kv, ABatchThatIsRefusedDoesNotMatter) {
  const Json view = view_of(
      R"({"query_lens": [4], "seq_lens": [3], "kv_cache": {"num_blocks": 4, "block_size": 16}})");
  EXPECT_EQ(view.at("k_pages"), 4);
}

TEST(Kv, Errors) {
  const Json cache =
      view_of(R"({"kv_cache": {"num_blocks": 16, "block_size": 100, "page_size": 16}})", 1);
  EXPECT_EQ(cache.at("error").at("code"), "BLOCK_SIZE_UNSUPPORTED");
  const Json none = view_of("\n {}", 2);
  EXPECT_EQ(none.at("error").at("code"), "BAD_DOCUMENT");
  EXPECT_EQ(none.at("error").at("message"), "stdin:2:2: required key \"kv_cache\" is missing");
  // The empty batch is put in at the end: places stay right.
  const Json unknown = view_of("{\"kv_cache\": {\"num_blocks\": 1,\n \"block\": 2}}", 2);
  EXPECT_EQ(unknown.at("error").at("message").get<std::string>().substr(0, 9), "stdin:2:2");
  EXPECT_EQ(view_of(R"({"kv_cache": )", 2).at("error").at("code"), "BAD_DOCUMENT");
  EXPECT_EQ(view_of("[]", 2).at("error").at("code"), "BAD_DOCUMENT");
}

// The numbers are those of attnplan_dtype, the sentence has the names.
TEST(Kv, AMismatchNamesBothDtypes) {
  const Json error = view_of(R"({"device": {"arch": "gfx942"}, "kv_cache": {"num_blocks": 16,
      "block_size": 128, "cache_dtype": "fp8", "view_dtype": "e4m3fn"}})",
                             1)
                         .at("error");
  EXPECT_EQ(error.at("code"), "DTYPE_MISMATCH");
  EXPECT_EQ(error.at("value"), 4);
  EXPECT_EQ(error.at("limit"), 5);
  EXPECT_EQ(error.at("message"),
            "kv_cache: view_dtype e4m3fn contradicts the cache dtype, whose bytes are e4m3fnuz on"
            " gfx942");
}

TEST(Kv, AnswersComeInOrder) {
  const TemporaryFile lines("a.jsonl",
                            R"({"name": "a", "kv_cache": {"num_blocks": 1, "block_size": 1}}
{"name": "b"}
{"name": "c", "kv_cache": {"num_blocks": 1, "block_size": 1}}
)");
  const ToolResult result = run_tool({"kv", lines.path(), "/nowhere/x", "-"}, kPacked);
  EXPECT_EQ(result.status, 2);
  const auto answers = lines_of(result.out);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(Json::parse(answers[2]).at("name"), "c");
  EXPECT_EQ(Json::parse(answers[3]).at("pages"), 2040);
  EXPECT_EQ(result.err, "attnplan: cannot read /nowhere/x: No such file or directory\n");
}

TEST(Kv, ExplainsTheTrim) {
  const std::string text =
      run_tool({"kv", "--explain", "--backend", "aiter_mha", "-"}, kPacked).out;
  for (const char* part :
       {"128 / 16 = 8 pages a block", "the next block begins 2 x 8 = 16 pages later",
        "127 x 16 + 7 = 2039", "2048 - 8 = 2040 pages", "min(2048, 2040) = 2040 pages of each",
        "the last 8 pages of K are dropped", "legal because the largest id, 2039, is below 2040",
        "the V half of the last block",
        "the allocator calls the elements uint8, and their bytes are e4m3fn",
        "pa_decode_gluon is handed pages of 16 tokens, labelled e4m3fn."}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
  const std::string dense =
      run_tool({"kv", "--explain", "-"},
               R"({"kv_cache": {"num_blocks": 7768, "block_size": 480, "layout": "mla",
                   "block_stride": 276480}})")
          .out;
  EXPECT_NE(dense.find("nothing is trimmed"), std::string::npos) << dense;
  EXPECT_NE(dense.find("276480 elements as given"), std::string::npos) << dense;
  EXPECT_NE(dense.find("beyond 2^31 - 1"), std::string::npos) << dense;
}

}  // namespace
}  // namespace attnplan::test
