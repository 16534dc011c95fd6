// Seeded random batches: every section of the library's plan against the naive one.
// ATTNPLAN_SECTIONS_SEED=N replays one batch, ATTNPLAN_SECTIONS_BATCHES=N changes how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "compare_sections.h"
#include "naive_plan.h"
#include "naive_sections.h"
#include "section_batch.h"
#include "shrink.h"

namespace attnplan::sections_test {
namespace {

using property::Buffer;
using property::Error;
using property::Planner;
using property::Scratch;

constexpr uint64_t kBatches = 30'000;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Tally {
  int planned = 0, refused = 0, over_capacity = 0;
  std::map<int32_t, int> sections;
};

std::string check(const Batch& batch, const Extras& extras, attnplan_scratch* scratch,
                  Tally* tally) {
  const SectionStructs structs(batch, extras);
  const oracle::NaivePlan naive =
      oracle::naive_plan(structs.config(), structs.step(), structs.group());
  Error error;
  const Planner planner = property::create_planner(structs.config(), &error);
  const Buffer plan =
      planner ? property::build(planner.get(), scratch, structs.step(), structs.group(), &error)
              : Buffer();
  if (naive.error) {
    ++tally->refused;
    return plan.size() == 0 ? "" : "the naive planner refuses the batch";
  }
  const oracle::NaiveSectionsResult sections =
      oracle::naive_sections(structs.config(), structs.step(), structs.group(), naive);
  if (sections.error) {
    ++tally->over_capacity;
    const oracle::NaiveError& expected = *sections.error;
    if (error.raw().code == expected.code && error.raw().status == expected.status) return "";
    return "naive status " + std::to_string(expected.status) + " code " +
           std::to_string(expected.code) + ", library " + std::to_string(error.raw().status) + " " +
           std::to_string(error.raw().code) + " " + error.raw().message;
  }
  if (plan.size() == 0) {
    return "the library refuses the batch: " + std::to_string(error.raw().status) + " " +
           error.raw().message;
  }
  ++tally->planned;
  for (const auto& [id, list] : sections.lists) ++tally->sections[id];
  return first_difference(sections, plan);
}

TEST(SectionsProperty, AgreeWithTheFormulas) {
  const Scratch scratch = property::create_scratch();
  const uint64_t only = from_environment("ATTNPLAN_SECTIONS_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : from_environment("ATTNPLAN_SECTIONS_BATCHES", kBatches);
  Tally tally;
  int failures = 0;
  for (uint64_t seed = first; seed <= last && failures < 5; ++seed) {
    const SectionBatch made = generate_section_batch(seed);
    const auto wrong_with = [&](const Batch& batch) {
      return check(batch, made.extras, scratch.get(), &tally);
    };
    const std::string wrong = wrong_with(made.batch);
    if (wrong.empty()) continue;
    ++failures;
    const Batch small = property::shrink(made.batch, wrong_with);
    ADD_FAILURE() << "ATTNPLAN_SECTIONS_SEED=" << seed << ": " << wrong
                  << "\nshrunk: " << wrong_with(small) << "\n"
                  << to_document(small, made.extras);
  }
  if (only != 0 || failures > 0) return;
  EXPECT_GT(tally.planned, static_cast<int>(last) / 2) << "too few batches are planned";
  EXPECT_GT(tally.over_capacity, 0) << "no batch exceeds a capacity";
  for (int32_t id = ATTNPLAN_SECTION_QUERY_START_LOC; id <= ATTNPLAN_SECTION_LAUNCH; ++id) {
    EXPECT_GT(tally.sections[id], static_cast<int>(last) / 100) << section_name(id);
  }
}

}  // namespace
}  // namespace attnplan::sections_test
