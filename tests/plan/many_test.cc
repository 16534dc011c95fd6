// attnplan_plan_build_many: the plans of all KV groups of a step are those of each alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "everything.h"

namespace {

std::atomic<int64_t> g_news{0};

}  // namespace

// Not inlined: a compiler that sees free() next to new complains.
__attribute__((noinline)) void* operator new(size_t bytes) {
  ++g_news;
  if (void* pointer = std::malloc(bytes)) return pointer;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* pointer) noexcept { std::free(pointer); }
__attribute__((noinline)) void operator delete(void* pointer, size_t) noexcept {
  std::free(pointer);
}

namespace attnplan::plan {
namespace {

constexpr size_t kLargestPlan = size_t{1} << 20;

struct Hooks {
  int64_t allocations = 0;
  attnplan_allocator allocator{};

  Hooks() {
    allocator.context = this;
    allocator.allocate = [](void* context, size_t bytes, size_t alignment) {
      ++static_cast<Hooks*>(context)->allocations;
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    allocator.deallocate = [](void*, void* pointer, size_t, size_t) { std::free(pointer); };
  }
};

// One KV group of the model: its planner, its table, its buffer.
struct Group {
  Group(Batch from, const attnplan_allocator* allocator) : batch(std::move(from)), structs(batch) {
    structs.mutable_config()->allocator = allocator;
    Error error;
    planner = property::create_planner(structs.config(), &error);
  }

  Batch batch;
  BatchStructs structs;
  Planner planner;
};

// The step of `from` for another planner, with a table for that planner's cache.
Batch with_step_of(const Batch& from, Batch planner, Dice* dice) {
  Batch out = from;
  out.profile = planner.profile;
  out.kernels = planner.kernels;
  out.arch = planner.arch;
  out.kv_cache = planner.kv_cache;
  out.config = planner.config;
  out.graph_full = planner.graph_full;
  out.graph_piecewise = planner.graph_piecewise;
  out.table.reset();
  property::generate_table(dice, &out);
  const bool draft = from.step.phase == ATTNPLAN_PHASE_DRAFT;
  if (draft && out.table && out.table->columns > 1 && !out.table->indptr && dice->percent(50)) {
    if (out.table->row_stride == 0) out.table->row_stride = out.table->columns;
    out.table->columns = dice->in32(1, out.table->columns - 1);  // longer requests are clamped
  }
  return out;
}

std::vector<std::unique_ptr<Group>> random_groups(uint64_t seed, const attnplan_allocator* hooks) {
  Dice dice(seed);
  Batch first = random_batch(dice.next());
  if (dice.percent(25)) first.step.phase = ATTNPLAN_PHASE_DRAFT;
  std::vector<std::unique_ptr<Group>> groups;
  const int64_t count = dice.in(1, 6);
  for (int64_t tries = 0; tries < 20 && static_cast<int64_t>(groups.size()) < count; ++tries) {
    Batch planner = random_planner(&dice);
    if (dice.percent(40)) {  // groups that share a scan
      planner.config.decode_threshold = first.config.decode_threshold;
      planner.config.mask = first.config.mask;
      planner.config.order = first.config.order;
      planner.config.flags = first.config.flags;
    }
    auto group = std::make_unique<Group>(with_step_of(first, planner, &dice), hooks);
    if (group->planner) groups.push_back(std::move(group));
  }
  return groups;
}

// The arrays of one call.
struct Call {
  explicit Call(const std::vector<std::unique_ptr<Group>>& groups) : bytes(groups.size(), 4711) {
    for (const auto& group : groups) {
      planners.push_back(group->planner.get());
      tables.push_back(group->structs.group());
      plans.emplace_back(kLargestPlan);
      buffers.push_back(plans.back().data());
      capacities.push_back(kLargestPlan);
    }
  }

  attnplan_status run(const attnplan_step& step, attnplan_scratch* scratch, Error* error) {
    return attnplan_plan_build_many(planners.data(), planners.size(), scratch, &step, tables.data(),
                                    buffers.data(), capacities.data(), bytes.data(), &failed,
                                    error->get());
  }

  std::vector<const attnplan_planner*> planners;
  std::vector<const attnplan_group*> tables;
  std::vector<Buffer> plans;
  std::vector<void*> buffers;
  std::vector<size_t> capacities;
  std::vector<size_t> bytes;
  size_t failed = 4711;
};

TEST(Many, IsEachAlone) {
  const Scratch scratch = property::create_scratch(), other = property::create_scratch();
  int complete = 0, failures = 0, later_failures = 0, clamps = 0;
  for (uint64_t seed = 1; seed <= 2500; ++seed) {
    const auto groups = random_groups(seed, nullptr);
    if (groups.empty()) continue;
    const attnplan_step& step = groups[0]->structs.step();
    Call call(groups);
    Error many_error(400, 16);
    const attnplan_status status = call.run(step, scratch.get(), &many_error);
    size_t at = 0;
    for (; at < groups.size(); ++at) {
      Buffer alone(kLargestPlan);
      size_t bytes = 0;
      Error error(400, 16);
      const attnplan_status expected = attnplan_plan_build(
          groups[at]->planner.get(), other.get(), &step, groups[at]->structs.group(), alone.data(),
          alone.size(), &bytes, error.get());
      if (expected != ATTNPLAN_OK) {
        ASSERT_EQ(status, expected) << "seed " << seed << ", group " << at;
        ASSERT_EQ(call.failed, at) << "seed " << seed;
        ASSERT_EQ(many_error.raw().code, error.raw().code) << "seed " << seed;
        ASSERT_EQ(many_error.raw().request, error.raw().request) << "seed " << seed;
        ASSERT_STREQ(many_error.raw().message, error.raw().message) << "seed " << seed;
        break;
      }
      ASSERT_TRUE(alone == call.plans[at])
          << "seed " << seed << ", group " << at << " of " << groups.size();
      if (status == ATTNPLAN_OK) {
        ASSERT_EQ(call.bytes[at], bytes) << "seed " << seed;
      }
      clamps += property::section_of(alone, ATTNPLAN_SECTION_WARNINGS).count > 0;
    }
    if (at == groups.size()) {
      ASSERT_EQ(status, ATTNPLAN_OK) << "seed " << seed << ": " << many_error.raw().message;
      ++complete;
    } else {
      for (size_t bytes : call.bytes) ASSERT_EQ(bytes, 4711u) << "bytes is untouched";
      ++failures;
      later_failures += at > 0;
    }
  }
  EXPECT_GT(complete, 200);
  EXPECT_GT(failures, 200);
  EXPECT_GT(later_failures, 100);
  EXPECT_GT(clamps, 20);
}

TEST(Many, AllocatesNothingOnceWarm) {
  Hooks hooks;
  attnplan_scratch* raw = nullptr;
  ASSERT_EQ(attnplan_scratch_create(&hooks.allocator, &raw, nullptr), ATTNPLAN_OK);
  const Scratch scratch(raw);
  std::vector<std::vector<std::unique_ptr<Group>>> sets;
  std::vector<Call> calls;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    sets.push_back(random_groups(seed, &hooks.allocator));
    calls.emplace_back(sets.back());
  }
  Error error(400, 16);
  const auto run_all = [&] {
    int planned = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (sets[i].empty()) continue;
      planned += calls[i].run(sets[i][0]->structs.step(), scratch.get(), &error) == ATTNPLAN_OK;
    }
    return planned;
  };
  const int planned = run_all();
  ASSERT_GT(planned, 5);
  const int64_t news = g_news, allocations = hooks.allocations;
  EXPECT_EQ(run_all(), planned);
  const int64_t news_after = g_news;
  EXPECT_EQ(news_after, news);
  EXPECT_EQ(hooks.allocations, allocations);
}

TEST(Many, NothingAndNoGroups) {
  const Scratch scratch = property::create_scratch();
  const auto groups = random_groups(1, nullptr);
  ASSERT_FALSE(groups.empty());
  Call call(groups);
  Error error;
  EXPECT_EQ(
      attnplan_plan_build_many(call.planners.data(), 0, scratch.get(), &groups[0]->structs.step(),
                               call.tables.data(), call.buffers.data(), call.capacities.data(),
                               call.bytes.data(), nullptr, error.get()),
      ATTNPLAN_OK);
  EXPECT_EQ(attnplan_plan_build_many(nullptr, 1, scratch.get(), &groups[0]->structs.step(), nullptr,
                                     call.buffers.data(), call.capacities.data(), call.bytes.data(),
                                     nullptr, error.get()),
            ATTNPLAN_INVALID_ARGUMENT);
}

TEST(Many, ABufferThatIsTooSmallIsNamed) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "unified";
  Error error;
  const Planner planner = property::create_planner(config, &error);
  const Scratch scratch = property::create_scratch();
  const int32_t query = 1, seq = 9;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = &query;
  step.seq_lens = &seq;
  step.num_reqs = 1;
  Buffer first(kLargestPlan), second(64);
  const attnplan_planner* planners[] = {planner.get(), planner.get()};
  void* buffers[] = {first.data(), second.data()};
  const size_t capacities[] = {first.size(), second.size()};
  size_t bytes[] = {1, 2}, failed = 77;
  EXPECT_EQ(attnplan_plan_build_many(planners, 2, scratch.get(), &step, nullptr, buffers,
                                     capacities, bytes, &failed, error.get()),
            ATTNPLAN_BUFFER_TOO_SMALL);
  EXPECT_EQ(failed, 1u);
  EXPECT_TRUE(second.untouched());
  EXPECT_FALSE(first.untouched()) << "buffers before the failure hold complete plans";
  EXPECT_EQ(error.raw().limit, 64);
  EXPECT_GT(error.raw().value, 64);
}

}  // namespace
}  // namespace attnplan::plan
