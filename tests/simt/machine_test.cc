// Correct programs do the same in every order.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

#include "hip/mma.h"
#include "hip/registers.h"
#include "hip/wave.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

constexpr uint64_t kSeeds = 20;

struct Stage {
  SharedArray<int, 256> values;
};

// Each thread takes the value of the next one, through shared memory.
void rotate(const int* in, int* out) {
  ATTNPLAN_SHARED(Stage, stage);
  const int thread = thread_index();
  const int threads = block_threads();
  stage.values.store(thread, in[block_index() * threads + thread]);
  block_barrier();
  out[block_index() * threads + thread] = stage.values.load((thread + 1) % threads);
}

TEST(Machine, SharedMemoryCarriesValuesAcrossABarrier) {
  std::vector<int> in(5 * 256);
  std::iota(in.begin(), in.end(), 0);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<int> out(in.size());
    simt::launch(simt::options_for<Gfx942>(seed), 5, 256, [&] { rotate(in.data(), out.data()); });
    for (int i = 0; i < 5 * 256; ++i) ASSERT_EQ(out[i], i / 256 * 256 + (i + 1) % 256);
  }
}

template <class Arch>
void exchange() {
  const int lane = lane_index<Arch>();
  const auto own = static_cast<uint32_t>(100 + lane);
  EXPECT_EQ(shuffle_xor<Arch>(own, 5), static_cast<uint32_t>(100 + (lane ^ 5)));
  EXPECT_EQ(shuffle<Arch>(own, (lane + 3) % Arch::kWave),
            static_cast<uint32_t>(100 + (lane + 3) % Arch::kWave));
  EXPECT_EQ(shuffle_xor<Arch>(static_cast<float>(lane), 1), static_cast<float>(lane ^ 1));
  EXPECT_EQ(ballot<Arch>(lane == 3 || lane == Arch::kWave - 1),
            uint64_t{8} | uint64_t{1} << (Arch::kWave - 1));
  EXPECT_TRUE(wave_any<Arch>(lane == 7));
  EXPECT_FALSE(wave_any<Arch>(false));
  EXPECT_EQ(wave_index<Arch>(), thread_index() / Arch::kWave);
}

TEST(Machine, WaveInstructionsExchangeByDefinition) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    simt::launch(simt::options_for<Gfx90a>(seed), 2, 128, exchange<Gfx90a>);
    simt::launch(simt::options_for<Sm90>(seed), 2, 128, exchange<Sm90>);
  }
}

// Where lanes run between two barriers, block after block.
std::vector<int> order_of(uint64_t seed) {
  std::vector<int> order;
  simt::launch(simt::options_for<Sm90>(seed), 3, 96, [&order] {
    order.push_back(block_index() * block_threads() + thread_index());
    block_barrier();
    order.push_back(block_index() * block_threads() + thread_index());
  });
  return order;
}

TEST(Machine, SeedsDrawTheOrderOfBlocksWavesAndLanes) {
  std::set<std::vector<int>> orders;
  std::set<int> first_blocks, first_waves, first_lanes;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<int> order = order_of(seed);
    ASSERT_EQ(order, order_of(seed));
    ASSERT_EQ(order.size(), 3u * 96u * 2u);
    orders.insert(order);
    first_blocks.insert(order[0] / 96);
    first_waves.insert(order[0] % 96 / 32);
    first_lanes.insert(order[0] % 32);
    // Blocks one after the other; nobody passes the barrier before everybody has come to it.
    for (size_t i = 0; i < order.size(); i += 96) {
      std::set<int> threads(order.begin() + static_cast<int>(i),
                            order.begin() + static_cast<int>(i) + 96);
      ASSERT_EQ(threads.size(), 96u);
      ASSERT_EQ(*threads.begin() % 96, 0);
      ASSERT_EQ(*threads.rbegin() - *threads.begin(), 95);
    }
  }
  EXPECT_EQ(orders.size(), 40u);
  EXPECT_EQ(first_blocks.size(), 3u);
  EXPECT_EQ(first_waves.size(), 3u);
  EXPECT_GT(first_lanes.size(), 10u);
}

struct SumStage {
  SharedArray<float, 32> of_wave;
  SharedArray<float, 1> of_block;
};

// The sum of a block's values in every thread, round after round in the same shared memory.
template <class Arch>
void sum_block(const float* in, float* out, int rounds) {
  ATTNPLAN_SHARED(SumStage, stage);
  for (int round = 0; round < rounds; ++round) {
    const int index = (round * grid_blocks() + block_index()) * block_threads() + thread_index();
    float sum = in[index];
    for (int mask = 1; mask < Arch::kWave; mask *= 2) sum += shuffle_xor<Arch>(sum, mask);
    const int wave = wave_index<Arch>();
    if (lane_index<Arch>() == 0) stage.of_wave.store(wave, sum);
    block_barrier();
    if (thread_index() == 0) {
      float total = 0;
      for (int i = 0; i < block_threads() / Arch::kWave; ++i) total += stage.of_wave.load(i);
      stage.of_block.store(0, total);
    }
    block_barrier();
    out[index] = stage.of_block.load(0);
  }
}

template <class Arch>
void expect_block_sums(int grid, int block, int rounds) {
  std::vector<float> in(static_cast<size_t>(grid * block * rounds));
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 251);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<float> out(in.size());
    simt::launch(simt::options_for<Arch>(seed), grid, block,
                 [&] { sum_block<Arch>(in.data(), out.data(), rounds); });
    for (size_t i = 0; i < in.size(); i += static_cast<size_t>(block)) {
      const auto first = in.begin() + static_cast<std::ptrdiff_t>(i);
      const float sum = std::accumulate(first, first + block, 0.0f);
      for (int j = 0; j < block; ++j) ASSERT_EQ(out[i + static_cast<size_t>(j)], sum);
    }
  }
}

TEST(Machine, BlocksOfEverySizeReduceInRounds) {
  expect_block_sums<Gfx942>(3, 256, 4);
  expect_block_sums<Gfx942>(2, 64, 4);
  expect_block_sums<Sm90>(2, 1024, 2);
  expect_block_sums<Sm90>(3, 96, 4);
}

TEST(Machine, BytesAreSelectedByNibbles) {
  simt::launch(simt::options_for<Sm90>(1), 1, 32, [] {
    EXPECT_EQ(select_bytes(0x33221100, 0x77665544, 0x3210), 0x33221100u);
    EXPECT_EQ(select_bytes(0x33221100, 0x77665544, 0x7531), 0x77553311u);
    EXPECT_EQ(select_bytes(0x33221100, 0x77665544, 0x0440), 0x00444400u);
  });
}

// As on hardware: no subnormal numbers in or out.
TEST(Machine, ApproximationsFlushSubnormals) {
  EXPECT_EQ(exp2_approx(-3), 0.125f);
  EXPECT_EQ(exp2_approx(-INFINITY), 0);
  EXPECT_EQ(exp2_approx(-140), 0);
  EXPECT_EQ(log2_approx(8), 3);
  EXPECT_EQ(log2_approx(1e-40f), -INFINITY);
  EXPECT_EQ(reciprocal_approx(4), 0.25f);
  EXPECT_EQ(reciprocal_approx(0), INFINITY);
  EXPECT_EQ(reciprocal_approx(1e-40f), INFINITY);
  EXPECT_EQ(reciprocal_approx(3e38f), 0);
}

}  // namespace
}  // namespace attnplan::hip
