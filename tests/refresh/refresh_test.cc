// The CPU twin of plan_refresh: plan from upper bounds + refresh = plan from the true lengths.
// ATTNPLAN_REFRESH_SEED=N replays one batch, ATTNPLAN_REFRESH_BATCHES=N changes how many.
#include "cpu/refresh.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "same_plan.h"
#include "subject.h"

namespace attnplan::refresh {
namespace {

constexpr uint64_t kBatches = 6'000;

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

bool clean(const cpu::RefreshFindings& f) {
  return !f.bad_starts && !f.row_count && !f.bad_seq_len && !f.too_long && !f.capacity && !f.chunks;
}

TEST(Refresh, MakesBoundsThePlanOfTheTrueLengths) {
  int planned = 0, compared = 0, inexact = 0;
  for_each_subject([&](const Subject& s) {
    ++planned;
    Buffer refreshed = copy_of(s.host_plan);
    const auto found = cpu::refresh(bytes_of(&refreshed), s.tensors.step(), s.rules());
    EXPECT_TRUE(clean(found));
    EXPECT_EQ(check_chunks(refreshed, s.truth, s.rules(), s.tensors), "");
    EXPECT_EQ(check_work(refreshed, s.host_plan, s.truth, s.rules(), s.tensors), "");
    if (!same_shape(refreshed, s.true_plan)) return;
    ++compared;
    inexact += !(s.host_plan == s.true_plan);
    EXPECT_EQ(compare_sections(refreshed, s.true_plan), "");
  });
  if (from_environment("ATTNPLAN_REFRESH_SEED", 0) != 0) return;
  std::printf("%d plans, %d of the same shape, %d of other bytes\n", planned, compared, inexact);
  EXPECT_GT(compared, planned / 3);
  EXPECT_GT(inexact, planned / 4);
}

TEST(Refresh, LeavesAnExactPlanAsItIs) {
  for_each_subject([&](const Subject& s) {
    Buffer refreshed = copy_of(s.true_plan);
    const auto found = cpu::refresh(bytes_of(&refreshed), s.tensors.step(), s.rules());
    EXPECT_TRUE(clean(found));
    EXPECT_TRUE(refreshed == s.true_plan);
  });
}

}  // namespace
}  // namespace attnplan::refresh
