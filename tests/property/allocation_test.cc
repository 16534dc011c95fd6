// A planner in steady state allocates nothing: not through its hooks, not through operator new,
// not through malloc. This executable replaces the global allocation functions to
// count, or hooks into those of a sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "generate.h"
#include "library.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTNPLAN_COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATTNPLAN_COUNTS_MALLOC 0
#endif
#endif
#ifndef ATTNPLAN_COUNTS_MALLOC
#define ATTNPLAN_COUNTS_MALLOC 1
#else
#include <sanitizer/allocator_interface.h>
#endif

namespace {

std::atomic<int64_t> g_allocations{0};  // through operator new or malloc, by anybody

}  // namespace

#if ATTNPLAN_COUNTS_MALLOC  // else a sanitizer has malloc and offers hooks
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  ++g_allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++g_allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* pointer, size_t bytes) {
  ++g_allocations;
  return __libc_realloc(pointer, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++g_allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** pointer, size_t alignment, size_t bytes) {
  ++g_allocations;
  *pointer = __libc_memalign(alignment, bytes);
  return *pointer == nullptr ? ENOMEM : 0;
}
}
#else
namespace {

void count_allocation(const volatile void*, size_t) { ++g_allocations; }
void ignore_release(const volatile void*) {}
const int g_hooked = __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_release);

}  // namespace
#endif

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::BatchStructs;

struct CountingAllocator {
  int64_t allocations = 0;
  int64_t live_bytes = 0;
  int64_t supply = INT64_MAX;  // allocations that still succeed
  attnplan_allocator hooks{};

  CountingAllocator() {
    hooks.context = this;
    hooks.allocate = [](void* context, size_t bytes, size_t alignment) {
      auto* self = static_cast<CountingAllocator*>(context);
      if (self->supply == 0) return static_cast<void*>(nullptr);
      --self->supply;
      ++self->allocations;
      self->live_bytes += static_cast<int64_t>(bytes);
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    hooks.deallocate = [](void* context, void* pointer, size_t bytes, size_t) {
      static_cast<CountingAllocator*>(context)->live_bytes -= static_cast<int64_t>(bytes);
      std::free(pointer);
    };
  }
};

// Every second batch asks for all that a plan can hold.
Batch make_batch(uint64_t seed) {
  Batch batch = generate_batch(seed);
  if (seed % 2 == 0) return batch;
  const bool has_ids = batch.table && batch.table->ids;
  for (int id = ATTNPLAN_SECTION_QUERY_START_LOC; id <= ATTNPLAN_SECTION_LAUNCH; ++id) {
    const bool of_cache = id >= ATTNPLAN_SECTION_PAGE_INDPTR && id <= ATTNPLAN_SECTION_SLOTS;
    if (has_ids || !of_cache) batch.config.sections |= uint64_t{1} << id;
  }
  batch.config.work = ATTNPLAN_WORK_AUTO;
  batch.config.local_attention_chunk = batch.kv_cache ? 4 * batch.kv_cache->block_size : 64;
  batch.config.chunk_workspace_tokens = 1 << 20;
  batch.graph_full = {4, 8, 64, 512};
  return batch;
}

// A batch with everything that one call needs, made before anything is counted.
struct Call {
  explicit Call(uint64_t seed, const attnplan_allocator* hooks)
      : batch(make_batch(seed)), structs(batch), plan(1 << 20) {
    structs.mutable_config()->allocator = hooks;
    Error ignored;
    planner = create_planner(structs.config(), &ignored);
  }

  attnplan_status run(attnplan_scratch* scratch) {
    size_t bytes = 0;
    return attnplan_plan_build(planner.get(), scratch, &structs.step(), structs.group(),
                               plan.data(), plan.size(), &bytes, error.get());
  }

  Batch batch;
  BatchStructs structs;
  Buffer plan;
  Error error{16, 8};
  Planner planner;
};

std::vector<std::unique_ptr<Call>> make_calls(const attnplan_allocator* hooks) {
  std::vector<std::unique_ptr<Call>> calls;
  for (uint64_t seed = 1; calls.size() < 400; ++seed) {
    auto call = std::make_unique<Call>(seed, hooks);
    if (call->planner) calls.push_back(std::move(call));
  }
  return calls;
}

int64_t run_all(std::vector<std::unique_ptr<Call>>* calls, attnplan_scratch* scratch) {
  int64_t planned = 0;
  for (auto& call : *calls) planned += call->run(scratch) == ATTNPLAN_OK;
  return planned;
}

TEST(Allocation, TheCountersCount) {
  const int64_t before = g_allocations;
  void* volatile probe = ::operator new(100);
  ::operator delete(probe);
  EXPECT_EQ(g_allocations, before + 1);
#if !ATTNPLAN_COUNTS_MALLOC
  EXPECT_NE(g_hooked, 0);
#endif
}

TEST(Allocation, RepeatedPlansAllocateNothing) {
  auto calls = make_calls(nullptr);
  const Scratch scratch = create_scratch();
  const int64_t warm = run_all(&calls, scratch.get());
  ASSERT_GT(warm, 200);
  const int64_t before = g_allocations;
  int64_t planned = 0;
  for (int round = 0; round < 10; ++round) planned += run_all(&calls, scratch.get());
  const int64_t allocations = g_allocations - before;
  EXPECT_EQ(planned, 10 * warm);
  EXPECT_EQ(allocations, 0);
}

TEST(Allocation, OnlyTheCallersHooksAreUsedAndNotInSteadyState) {
  CountingAllocator counting;
  {
    auto calls = make_calls(&counting.hooks);
    EXPECT_GT(counting.allocations, 0) << "planners did not use the hooks";
    const int64_t by_planners = counting.allocations;
    attnplan_scratch* raw = nullptr;
    ASSERT_EQ(attnplan_scratch_create(&counting.hooks, &raw, nullptr), ATTNPLAN_OK);
    const Scratch scratch(raw);
    run_all(&calls, scratch.get());
    EXPECT_GT(counting.allocations, by_planners) << "the scratch did not use the hooks";
    const int64_t before = counting.allocations;
    run_all(&calls, scratch.get());
    EXPECT_EQ(counting.allocations, before);
  }
  EXPECT_EQ(counting.live_bytes, 0) << "something was not given back";
}

// A planner, a scratch and a plan where only the first `supply` allocations succeed.
attnplan_status plan_with(int64_t supply, const Batch& batch, CountingAllocator* counting) {
  counting->supply = supply;
  BatchStructs structs(batch);
  structs.mutable_config()->allocator = &counting->hooks;
  Error error;
  const Planner planner = create_planner(structs.config(), &error);
  if (!planner) return error.raw().status;
  attnplan_scratch* raw = nullptr;
  attnplan_status status = attnplan_scratch_create(&counting->hooks, &raw, nullptr);
  if (status != ATTNPLAN_OK) return status;
  const Scratch scratch(raw);
  size_t bytes = 0;
  Buffer plan(1 << 20);
  return attnplan_plan_build(planner.get(), scratch.get(), &structs.step(), structs.group(),
                             plan.data(), plan.size(), &bytes, nullptr);
}

TEST(Allocation, EveryFailedAllocationIsReportedAndNothingStaysBehind) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Batch batch = make_batch(seed);
    CountingAllocator unlimited;
    if (plan_with(INT64_MAX, batch, &unlimited) != ATTNPLAN_OK) continue;
    ++planned;
    for (int64_t supply = 0; supply < unlimited.allocations; ++supply) {
      CountingAllocator limited;
      EXPECT_EQ(plan_with(supply, batch, &limited), ATTNPLAN_OUT_OF_MEMORY)
          << "seed " << seed << ", " << supply << " allocations";
      ASSERT_EQ(limited.live_bytes, 0) << "seed " << seed << ", " << supply << " allocations";
    }
  }
  EXPECT_GT(planned, 50);
}

}  // namespace
}  // namespace attnplan::property
