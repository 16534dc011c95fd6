// Case files: a batch document a line, with the partial plan document that is right for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "json/batch_document.h"
#include "json/match.h"
#include "json/plan_document.h"
#include "json/pretty.h"
#include "json/session.h"

namespace attnplan::json {
namespace {

struct CaseLine {
  std::string file;
  int line;
  std::string text;
  std::string name;  // of the case
};

void PrintTo(const CaseLine& c, std::ostream* out) { *out << c.file << ":" << c.line; }

constexpr const char* kFiles[] = {"errors", "graph", "kv_cache", "routing", "sections"};

std::vector<CaseLine> load_cases() {
  std::vector<CaseLine> cases;
  for (const std::string file : kFiles) {
    std::ifstream in(std::string(ATTNPLAN_TEST_DATA) + "/cases/" + file + ".jsonl");
    std::string text;
    for (int line = 1; std::getline(in, text); ++line) {
      BatchDocument batch;
      parse_batch(text, {file + ".jsonl", line, 1}, "", batch);
      cases.push_back({file, line, text, batch.name()});
    }
  }
  return cases;
}

const std::vector<CaseLine>& all_cases() {
  static const std::vector<CaseLine> cases = load_cases();
  return cases;
}

// "routing_012_trailing_pads_are_not_measured"
std::string test_name(const testing::TestParamInfo<CaseLine>& info) {
  std::string words;
  for (const char c : info.param.name) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (word || (!words.empty() && words.back() != '_')) words += word ? c : '_';
  }
  const std::string number = std::to_string(1000 + info.param.line).substr(1);
  return info.param.file + "_" + number + "_" + words;
}

// The plan document of a case, or of what is wrong with it.
std::string plan_document_of(const CaseLine& c, BatchDocument& batch, bool pretty = false) {
  const auto problem = parse_batch(c.text, {c.file + ".jsonl", c.line, 1}, "", batch);
  Session session;
  std::string compact, text;
  append_plan_document(batch, problem ? outcome_of(*problem) : session.plan(batch), compact);
  if (!pretty) return compact;
  append_pretty(compact, text);
  return text;
}

std::string id_of(const CaseLine& c) { return c.file + ":" + std::to_string(c.line); }

class CaseTest : public testing::TestWithParam<CaseLine> {};

TEST_P(CaseTest, PlansAsExpected) {
  const CaseLine& c = GetParam();
  BatchDocument batch;
  const std::string plan = plan_document_of(c, batch);
  ASSERT_TRUE(batch.expect().has_value());
  EXPECT_EQ(mismatch(*batch.expect(), plan), "") << plan;
}

// Laying a document out changes no value of it.
TEST_P(CaseTest, PrettyDocumentSaysTheSame) {
  BatchDocument batch;
  const std::string compact = plan_document_of(GetParam(), batch);
  const std::string pretty = plan_document_of(GetParam(), batch, true);
  EXPECT_EQ(mismatch(compact, pretty), "") << pretty;
  EXPECT_EQ(mismatch(pretty, compact), "") << pretty;
}

INSTANTIATE_TEST_SUITE_P(Files, CaseTest, testing::ValuesIn(all_cases()), test_name);

TEST(Cases, EveryFileHasLines) {
  std::map<std::string, int> lines;
  for (const CaseLine& c : all_cases()) ++lines[c.file];
  for (const std::string file : kFiles) EXPECT_GE(lines[file], 8) << file;
}

TEST(Cases, PlanningTwiceGivesEqualDocuments) {
  for (const CaseLine& c : all_cases()) {
    BatchDocument batch;
    EXPECT_EQ(plan_document_of(c, batch), plan_document_of(c, batch)) << id_of(c);
  }
}

// One session after another document's planner answers as a fresh one.
TEST(Cases, OneSessionAnswersAsMany) {
  Session shared;
  for (const CaseLine& c : all_cases()) {
    BatchDocument batch;
    const std::string alone = plan_document_of(c, batch);
    const auto problem = parse_batch(c.text, {c.file + ".jsonl", c.line, 1}, "", batch);
    if (problem) continue;
    std::string together;
    append_plan_document(batch, shared.plan(batch), together);
    EXPECT_EQ(together, alone) << id_of(c);
  }
}

// A document stays usable where it is moved to.
TEST(Cases, MovedDocumentsPlanAlike) {
  for (const CaseLine& c : all_cases()) {
    BatchDocument batch;
    const std::string before = plan_document_of(c, batch);
    if (before.find("BAD_DOCUMENT") != std::string::npos) continue;
    std::vector<BatchDocument> elsewhere;
    elsewhere.push_back(std::move(batch));
    batch = BatchDocument();
    Session session;
    std::string after;
    append_plan_document(elsewhere[0], session.plan(elsewhere[0]), after);
    EXPECT_EQ(after, before) << id_of(c);
  }
}

}  // namespace
}  // namespace attnplan::json
