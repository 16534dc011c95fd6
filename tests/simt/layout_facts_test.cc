// The raw maps of hip/mma.h against published facts: tests/data/mfma_layouts.jsonl, ten elements of
// each instruction, most of them from AMD's matrix instruction calculator.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "hip/mma.h"

namespace attnplan::hip {
namespace {

using Json = nlohmann::json;

template <class I>
void expect_facts(const Json& line) {
  const auto& elements = line["elements"];
  EXPECT_EQ(line["wave"], I::kWave);
  EXPECT_EQ(line["m"], I::kM);
  EXPECT_EQ(line["n"], I::kN);
  EXPECT_EQ(line["k"], I::kK);
  EXPECT_EQ(elements["A"], 2 * I::kAWords);
  EXPECT_EQ(elements["B"], 2 * I::kBWords);
  EXPECT_EQ(elements["D"], I::kDWords);
  ASSERT_GE(line["facts"].size(), 10u);
  for (const Json& fact : line["facts"]) {
    const std::string matrix = fact["matrix"];
    const int lane = fact["lane"];
    const int element = fact["element"];
    const bool is_a = matrix == "A";
    const bool is_b = matrix == "B";
    const Coordinate at = is_a   ? I::a(lane, element)
                          : is_b ? I::b(lane, element)
                                 : I::d(lane, element);
    EXPECT_EQ(at.row, fact[is_b ? "k" : "i"]) << fact;
    EXPECT_EQ(at.column, fact[is_a ? "k" : "j"]) << fact;
  }
}

TEST(LayoutFacts, HoldForEveryInstructionInUse) {
  const std::map<std::string, void (*)(const Json&)> instructions = {
      {"gfx90a v_mfma_f32_16x16x16bf16_1k", expect_facts<Mfma16x16x16<Bf16>>},
      {"gfx90a v_mfma_f32_16x16x16f16", expect_facts<Mfma16x16x16<Fp16>>},
      {"gfx942 v_mfma_f32_16x16x16_bf16", expect_facts<Mfma16x16x16<Bf16>>},
      {"gfx942 v_mfma_f32_16x16x16_f16", expect_facts<Mfma16x16x16<Fp16>>},
      {"gfx950 v_mfma_f32_16x16x32_bf16", expect_facts<Mfma16x16x32<Bf16>>},
      {"gfx950 v_mfma_f32_16x16x32_f16", expect_facts<Mfma16x16x32<Fp16>>},
      {"sm_90 mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
       expect_facts<MmaSync16x8x16<Bf16>>},
      {"sm_90 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       expect_facts<MmaSync16x8x16<Fp16>>},
  };
  std::ifstream file(ATTNPLAN_TEST_DATA "/mfma_layouts.jsonl");
  ASSERT_TRUE(file);
  size_t found = 0;
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text);
    const auto name =
        line["arch"].get<std::string>() + " " + line["instruction"].get<std::string>();
    const auto instruction = instructions.find(name);
    if (instruction == instructions.end()) continue;
    SCOPED_TRACE(name);
    instruction->second(line);
    ++found;
  }
  EXPECT_EQ(found, instructions.size());
}

}  // namespace
}  // namespace attnplan::hip
