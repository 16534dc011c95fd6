// The case files against the naive planner: whoever judges the library must be right first.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "batch.h"
#include "batch_json.h"
#include "naive_plan.h"

namespace attnplan::oracle {
namespace {

struct Tally {
  int answered = 0;
  std::map<std::string, int> missing;  // by the feature that the naive planner lacks
};

bool expects_bad_document(const Json& document) {
  const Json error = document.at("expect").value("error", Json());
  return error.is_object() && error.value("code", "") == "BAD_DOCUMENT";
}

void check_case(const Json& document, const std::string& where, Tally* tally) {
  if (expects_bad_document(document)) return;  // the reader's business, not the planner's
  std::string missing;
  const std::optional<Batch> batch = batch_from_json(document, &missing);
  if (!batch) {
    ++tally->missing[missing];
    return;
  }
  const BatchStructs structs(*batch);
  const NaivePlan plan = naive_plan(structs.config(), structs.step(), structs.group());
  EXPECT_EQ(first_difference(document.at("expect"), plan_to_json(plan, structs.config()), ""), "")
      << where << ": " << batch->name;
  ++tally->answered;
}

Tally check_file(const std::string& name) {
  Tally tally;
  std::ifstream file(std::string(ATTNPLAN_TEST_DATA) + "/cases/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    check_case(Json::parse(line), name + ":" + std::to_string(number), &tally);
  }
  return tally;
}

TEST(NaivePlanner, AnswersEveryRoutingCase) {
  const Tally tally = check_file("routing.jsonl");
  EXPECT_GE(tally.answered, 48);
  EXPECT_TRUE(tally.missing.empty());
}

TEST(NaivePlanner, AnswersEveryErrorCase) {
  const Tally tally = check_file("errors.jsonl");
  EXPECT_GE(tally.answered, 21);
  EXPECT_TRUE(tally.missing.empty());
}

TEST(NaivePlanner, AnswersEveryCacheCase) {
  const Tally tally = check_file("kv_cache.jsonl");
  EXPECT_GE(tally.answered, 13);
  EXPECT_TRUE(tally.missing.empty());
}

TEST(NaivePlanner, AnswersTheSectionsItHas) { EXPECT_GE(check_file("sections.jsonl").answered, 3); }

// What is generated, printed as a document and read back is the same batch.
TEST(BatchDocument, SurvivesTheRoundTrip) {
  std::ifstream file(std::string(ATTNPLAN_TEST_DATA) + "/cases/routing.jsonl");
  std::string line, missing;
  int count = 0;
  while (std::getline(file, line)) {
    const Batch once = *batch_from_json(Json::parse(line), &missing);
    const Json printed = batch_to_json(once);
    const Batch twice = *batch_from_json(printed, &missing);
    EXPECT_EQ(batch_to_json(twice), printed);
    const BatchStructs a(once), b(twice);
    EXPECT_EQ(plan_to_json(naive_plan(a.config(), a.step(), a.group()), a.config()),
              plan_to_json(naive_plan(b.config(), b.step(), b.group()), b.config()));
    ++count;
  }
  EXPECT_GE(count, 48);
}

}  // namespace
}  // namespace attnplan::oracle
