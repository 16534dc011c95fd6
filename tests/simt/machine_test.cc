// Correct programs do the same in every order.
#include <gtest/gtest.h>

#include <numeric>
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

}  // namespace
}  // namespace attnplan::hip
