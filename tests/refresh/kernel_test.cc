// plan_refresh on the simulated device: byte for byte what the CPU twin makes of the same plan.
#include <gtest/gtest.h>

#include <cstdlib>

#include "hip/plan_refresh.h"
#include "kernel_args.h"
#include "same_plan.h"
#include "simt/launch.h"

namespace attnplan::refresh {
namespace {

constexpr uint64_t kBatches = 400;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

template <typename Visit>
void for_each_subject(Visit visit) {
  const uint64_t only = from_environment("ATTNPLAN_REFRESH_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : from_environment("ATTNPLAN_REFRESH_BATCHES", kBatches);
  for (uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    const Subject subject(seed);
    if (!subject.planned()) continue;
    SCOPED_TRACE("ATTNPLAN_REFRESH_SEED=" + std::to_string(seed));
    Dice dice(seed ^ 0x9e4e1);
    visit(subject, &dice);
  }
}

size_t first_difference(const Buffer& a, const Buffer& b) {
  size_t at = 0;
  while (at < a.size() && a.data()[at] == b.data()[at]) ++at;
  return at;
}

// Sections come with the one that brings them.
int32_t asked_with(int32_t id) {
  if (id > ATTNPLAN_SECTION_CHUNKS && id <= ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST) {
    return ATTNPLAN_SECTION_CHUNKS;
  }
  if (id > ATTNPLAN_SECTION_WINDOW && id <= ATTNPLAN_SECTION_WINDOW_CU_LEN) {
    return ATTNPLAN_SECTION_WINDOW;
  }
  return id > ATTNPLAN_SECTION_WORK ? static_cast<int32_t>(ATTNPLAN_SECTION_WORK) : id;
}

// Twin and kernel on copies of `plan`.
void expect_same(const Buffer& plan, const Tensors& tensors, const cpu::RefreshRules& rules,
                 Dice* dice) {
  Buffer by_twin = copy_of(plan), by_kernel = copy_of(plan);
  const KernelArgs args(tensors, rules, dice->percent(50));
  const auto found = cpu::refresh(bytes_of(&by_twin), tensors.step(), rules);
  const Grid grid = random_grid(dice);
  const uint32_t status = launch_refresh(grid, args.args, &by_kernel);
  EXPECT_EQ(status, status_bits(found));
  EXPECT_EQ(first_difference(by_twin, by_kernel), plan.size())
      << "blocks " << grid.blocks << ", threads " << grid.threads;
}

TEST(RefreshKernel, IsTheTwinOnTrueLengths) {
  for_each_subject(
      [](const Subject& s, Dice* dice) { expect_same(s.host_plan, s.tensors, s.rules(), dice); });
}

TEST(RefreshKernel, IsTheTwinOnLengthsThatMakeNoSense) {
  for_each_subject([](const Subject& s, Dice* dice) {
    expect_same(s.host_plan, hostile(s.tensors, dice), s.rules(), dice);
  });
}

TEST(RefreshKernel, WritesOnlyTheSectionsItIsAskedFor) {
  for_each_subject([](const Subject& s, Dice* dice) {
    cpu::RefreshRules rules = s.rules();
    rules.sections = dice->next() & ((uint64_t{1} << ATTNPLAN_SECTION_END) - 1);
    expect_same(s.host_plan, s.tensors, rules, dice);
    Buffer plan = copy_of(s.host_plan);
    cpu::refresh(bytes_of(&plan), s.tensors.step(), rules);
    for (const int32_t id : differing_sections(s.host_plan, plan)) {
      EXPECT_NE(rules.sections >> asked_with(id) & 1, 0u) << "section " << id;
    }
  });
}

// More requests than a block has threads, and more rows and pages than the grid.
TEST(RefreshKernel, WalksThousandsOfRequestsInRounds) {
  Dice dice(7);
  Batch step;
  step.profile = "unified";
  step.kv_cache = attnplan_kv_cache ATTNPLAN_KV_CACHE_INIT;
  step.kv_cache->num_blocks = 5000;
  step.kv_cache->block_size = 32;
  step.kv_cache->page_size = 16;
  step.step.flags = ATTNPLAN_STEP_SEQ_LENS_INEXACT | ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  step.config.decode_threshold = 4;
  step.config.local_attention_chunk = 64;
  step.config.sliding_window = 100;
  step.config.chunk_workspace_tokens = 100'000;
  step.config.work = ATTNPLAN_WORK_EQUAL_CHUNKS;
  for (int32_t id = ATTNPLAN_SECTION_QUERY_START_LOC; id < ATTNPLAN_SECTION_WORK; ++id) {
    step.config.sections |= uint64_t{1} << id;
  }
  step.seq_lens.emplace();
  step.table.emplace();
  step.table->columns = 13;
  step.table->ids.emplace();
  for (int32_t i = 0; i < 1700; ++i) {
    step.query.push_back(dice.percent(5) ? 0 : dice.in32(1, dice.percent(5) ? 40 : 4));
    step.seq_lens->push_back(step.query.back() + dice.in32(0, 350));
    for (int32_t b = 0; b < 13; ++b) step.table->ids->push_back(dice.in32(0, 4999));
  }
  const Subject s(step, 7, size_t{8} << 20);
  ASSERT_TRUE(s.planned());
  for (const int threads : {64, 512}) {
    Buffer by_twin = copy_of(s.host_plan), by_kernel = copy_of(s.host_plan);
    const KernelArgs args(s.tensors, s.rules(), true);
    cpu::refresh(bytes_of(&by_twin), s.tensors.step(), s.rules());
    EXPECT_EQ(launch_refresh({threads == 64, 3, threads, 1}, args.args, &by_kernel), 0u);
    EXPECT_EQ(first_difference(by_twin, by_kernel), by_twin.size());
    ASSERT_TRUE(same_shape(by_kernel, s.true_plan));
    EXPECT_EQ(compare_sections(by_kernel, s.true_plan), "");
  }
}

TEST(RefreshKernel, LeavesAnotherPlanAlone) {
  const Subject s(1);
  ASSERT_TRUE(s.planned());
  Buffer plan = copy_of(s.host_plan);
  KernelArgs args(s.tensors, s.rules(), false);
  args.args.num_reqs = property::header_of(plan).num_reqs + 1;
  EXPECT_EQ(launch_refresh({}, args.args, &plan), hip::kRefreshOtherPlan);
  EXPECT_TRUE(plan == s.host_plan);
  args.args.num_reqs -= 1;
  EXPECT_EQ(launch_refresh({}, args.args, &plan), 0u);
}

TEST(RefreshKernel, LeavesAnExactPlanAsItIs) {
  for_each_subject([](const Subject& s, Dice* dice) {
    Buffer plan = copy_of(s.true_plan);
    const KernelArgs args(s.tensors, s.rules(), dice->percent(50));
    EXPECT_EQ(launch_refresh(random_grid(dice), args.args, &plan), 0u);
    EXPECT_EQ(first_difference(plan, s.true_plan), plan.size());
  });
}

}  // namespace
}  // namespace attnplan::refresh
