// Planners shared by eight threads, each with a scratch of its own, give the bytes that one thread
// gives.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "generate.h"
#include "library.h"

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::BatchStructs;

constexpr int kThreads = 8;
constexpr int kRounds = 20;

struct Shared {
  explicit Shared(uint64_t seed) : batch(generate_batch(seed)), structs(batch) {
    Error error;
    planner = create_planner(structs.config(), &error);
  }

  Batch batch;
  BatchStructs structs;
  Planner planner;
  Buffer expected;
};

std::vector<std::unique_ptr<Shared>> make_shared_planners() {
  std::vector<std::unique_ptr<Shared>> all;
  const Scratch scratch = create_scratch();
  for (uint64_t seed = 1; all.size() < 150; ++seed) {
    auto one = std::make_unique<Shared>(seed);
    if (!one->planner) continue;
    Error error;
    one->expected =
        build(one->planner.get(), scratch.get(), one->structs.step(), one->structs.group(), &error);
    if (one->expected.size() > 0) all.push_back(std::move(one));
  }
  return all;
}

TEST(Threads, EightThreadsShareOnePlanner) {
  const auto planners = make_shared_planners();
  std::atomic<int> ready{0}, different{0}, compared{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Scratch scratch = create_scratch();
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (int round = 0; round < kRounds; ++round) {
        for (size_t i = 0; i < planners.size(); ++i) {
          // Half of the threads meet on the same planner, the others come the other way.
          const Shared& shared = *planners[t % 2 == 0 ? i : planners.size() - 1 - i];
          Error error;
          const Buffer plan = build(shared.planner.get(), scratch.get(), shared.structs.step(),
                                    shared.structs.group(), &error);
          different += !(plan == shared.expected);
          ++compared;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compared, kThreads * kRounds * 150);
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace attnplan::property
