// The CPU twin of plan_refresh: plan from upper bounds + refresh = plan from the true lengths.
// ATTNPLAN_REFRESH_SEED=N replays one batch, ATTNPLAN_REFRESH_BATCHES=N changes how many.
#include "cpu/refresh.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "expect_truth.h"
#include "same_plan.h"
#include "subject.h"

namespace attnplan::refresh {
namespace {

constexpr uint64_t kBatches = 15'000;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void for_each_subject(const std::function<void(const Subject&)>& visit) {
  const uint64_t only = from_environment("ATTNPLAN_REFRESH_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : from_environment("ATTNPLAN_REFRESH_BATCHES", kBatches);
  for (uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    const Subject subject(seed);
    if (!subject.planned()) continue;
    SCOPED_TRACE("ATTNPLAN_REFRESH_SEED=" + std::to_string(seed));
    visit(subject);
  }
}

// Sections that say something else once the true lengths are known.
constexpr int32_t kFollowLengths[] = {ATTNPLAN_SECTION_SEGMENTS,
                                      ATTNPLAN_SECTION_QUERY_START_LOC,
                                      ATTNPLAN_SECTION_SEQ_LENS,
                                      ATTNPLAN_SECTION_CONTEXT_LENS,
                                      ATTNPLAN_SECTION_ROW_REQUEST,
                                      ATTNPLAN_SECTION_ROW_POSITION,
                                      ATTNPLAN_SECTION_PAGE_INDPTR,
                                      ATTNPLAN_SECTION_PAGE_INDICES,
                                      ATTNPLAN_SECTION_LAST_PAGE_LEN,
                                      ATTNPLAN_SECTION_PAGE_TABLE,
                                      ATTNPLAN_SECTION_SLOTS,
                                      ATTNPLAN_SECTION_CHUNK_LIST,
                                      ATTNPLAN_SECTION_CHUNK_CU_LENS,
                                      ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST,
                                      ATTNPLAN_SECTION_WINDOW,
                                      ATTNPLAN_SECTION_WINDOW_START,
                                      ATTNPLAN_SECTION_WINDOW_CU_LEN,
                                      ATTNPLAN_SECTION_LOCAL,
                                      ATTNPLAN_SECTION_CONTEXT_PARALLEL,
                                      ATTNPLAN_SECTION_WORK_ITEMS,
                                      ATTNPLAN_SECTION_MERGE_TILES};

bool clean(const cpu::RefreshFindings& f) {
  return !f.bad_starts && !f.row_count && !f.bad_seq_len && !f.too_long && !f.capacity && !f.chunks;
}

TEST(Refresh, MakesBoundsThePlanOfTheTrueLengths) {
  int planned = 0, compared = 0;
  std::map<int32_t, int> changed;  // sections that the host had not known
  for_each_subject([&](const Subject& s) {
    ++planned;
    Buffer refreshed = copy_of(s.host_plan);
    const auto found = cpu::refresh(bytes_of(&refreshed), s.tensors.step(), s.rules());
    EXPECT_TRUE(clean(found));
    const Judgement judged = judge_refreshed(s, refreshed, s.outcome());
    EXPECT_EQ(judged.wrong, "");
    if (!judged.compared) return;
    ++compared;
    for (const int32_t id : differing_sections(s.host_plan, refreshed)) ++changed[id];
  });
  if (from_environment("ATTNPLAN_REFRESH_SEED", 0) != 0) return;
  EXPECT_GT(compared, planned / 2);
  for (const int32_t id : kFollowLengths) EXPECT_GT(changed[id], 5) << "section " << id;
}

TEST(Refresh, FollowsLengthsAndTablesThatChangeInPlace) {
  int planned = 0, compared = 0;
  for_each_subject([&](const Subject& s) {
    const Outcome other = s.another(1);
    if (other.plan.size() == 0) return;
    ++planned;
    Buffer plan = copy_of(s.host_plan);
    cpu::refresh(bytes_of(&plan), s.tensors.step(), s.rules());
    EXPECT_TRUE(clean(cpu::refresh(bytes_of(&plan), other.tensors.step(), s.rules())));
    const Judgement judged = judge_refreshed(s, plan, other);
    EXPECT_EQ(judged.wrong, "");
    compared += judged.compared;
  });
  if (from_environment("ATTNPLAN_REFRESH_SEED", 0) != 0) return;
  EXPECT_GT(compared, planned / 2);
}

TEST(Refresh, LeavesAnExactPlanAsItIs) {
  for_each_subject([&](const Subject& s) {
    Buffer refreshed = copy_of(s.true_plan);
    const auto found = cpu::refresh(bytes_of(&refreshed), s.tensors.step(), s.rules());
    EXPECT_TRUE(clean(found));
    EXPECT_TRUE(refreshed == s.true_plan);
  });
}

TEST(Refresh, RemembersNothingOfTheRefreshBefore) {
  for_each_subject([](const Subject& s) {
    Dice dice(1);
    Buffer once = copy_of(s.host_plan), twice = copy_of(s.host_plan);
    cpu::refresh(bytes_of(&twice), hostile(s.tensors, &dice).step(), s.rules());
    cpu::refresh(bytes_of(&twice), s.tensors.step(), s.rules());
    cpu::refresh(bytes_of(&once), s.tensors.step(), s.rules());
    EXPECT_EQ(compare_refreshed(twice, once), "");
  });
}

TEST(Refresh, StaysInsideWhateverTheLengths) {
  int found = 0;
  for_each_subject([&found](const Subject& s) {
    Dice dice(2);
    const Tensors tensors = hostile(s.tensors, &dice);
    Buffer plan = copy_of(s.host_plan);
    found += !clean(cpu::refresh(bytes_of(&plan), tensors.step(), s.rules()));
    EXPECT_EQ(compare_outside(plan, s.host_plan), "");
    EXPECT_EQ(check_bounds(plan), "");
  });
  EXPECT_TRUE(found > 1000 || from_environment("ATTNPLAN_REFRESH_SEED", 0) != 0);
}

}  // namespace
}  // namespace attnplan::refresh
