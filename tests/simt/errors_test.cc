// Every mistake that the emulation is there to find is found, and named with who made it and where.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hip/mma.h"
#include "hip/registers.h"
#include "hip/wave.h"
#include "simt/launch.h"

namespace attnplan::hip {
namespace {

using Kernel = std::function<void()>;

// What a launch of gfx942 says, for any order of lanes; only the first line that differs is kept.
std::string error_of(int block, const Kernel& kernel, uint64_t seed = 1, int grid = 1) {
  try {
    simt::launch(simt::options_for<Gfx942>(seed), grid, block, kernel);
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "no error";
}

// The message does not depend on the order of lanes.
void expect_error(int block, const Kernel& kernel, const std::string& message) {
  for (uint64_t seed = 0; seed < 10; ++seed) ASSERT_EQ(error_of(block, kernel, seed), message);
}
// It does; this is part of it in any order.
void expect_error_with(int block, const Kernel& kernel, const std::vector<std::string>& parts) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::string message = error_of(block, kernel, seed);
    for (const std::string& part : parts) {
      ASSERT_NE(message.find(part), std::string::npos) << message << "\nhas no: " << part;
    }
  }
}

std::string here(int line) { return " (errors_test.cc:" + std::to_string(line) + ")"; }

struct Shared {
  SharedArray<float, 128> first;
  SharedArray<int, 64> second;
};

// ------------------------------------------------------------ meetings

TEST(Meetings, AMissingLaneIsNamed) {
  const int line = __LINE__ + 2;
  const Kernel kernel = [] {
    if (thread_index() != 69) (void)shuffle_xor<Gfx942>(1u, 1);
  };
  expect_error(128, kernel,
               "block 0, wave 1: lanes of a wave do not meet: lanes 0-4, 6-63 wait at shuffle_xor" +
                   here(line) + "; lane 5 has returned");
}

TEST(Meetings, LanesAtTwoInstructionsAreNamed) {
  const int line = __LINE__ + 3;
  const Kernel kernel = [] {
    if (thread_index() % 2 == 0) {
      (void)ballot<Gfx942>(true);
    } else {
      block_barrier();
    }
  };
  std::string odd = "1";
  std::string even = "0";
  for (int i = 2; i < 64; i += 2) {
    even += ", " + std::to_string(i);
    odd += ", " + std::to_string(i + 1);
  }
  expect_error(64, kernel,
               "block 0, wave 0: lanes of a wave do not meet: lanes " + even + " wait at ballot" +
                   here(line) + "; lanes " + odd + " wait at the block barrier" + here(line + 2));
}

TEST(Meetings, TwoCallsOfOneInstructionAreTwoPlaces) {
  const int line = __LINE__ + 3;
  const Kernel kernel = [] {
    if (thread_index() < 32) {
      (void)shuffle<Gfx942>(1u, 0);
    } else {
      (void)shuffle<Gfx942>(2u, 0);
    }
  };
  expect_error(64, kernel,
               "block 0, wave 0: lanes of a wave do not meet: lanes 0-31 wait at shuffle" +
                   here(line) + "; lanes 32-63 wait at shuffle" + here(line + 2));
}

TEST(Meetings, ALaneMissingAtAMatrixInstructionIsNamed) {
  const int line = __LINE__ + 4;
  const Kernel kernel = [] {
    const uint32_t operand[2] = {};
    float sums[4] = {};
    if (thread_index() != 63) Mfma16x16x16<Bf16>::mma(operand, operand, sums);
  };
  expect_error(64, kernel,
               "block 0, wave 0: lanes of a wave do not meet: lanes 0-62 wait at mfma 16x16x16" +
                   here(line) + "; lane 63 has returned");
}

TEST(Meetings, TwoCallersOfAHelperAreTwoPlaces) {
  using Mma = AttentionMma<Gfx942, Bf16>;
  const auto sum = [](float a, float b) { return a + b; };
  const int line = __LINE__ + 3;
  const Kernel kernel = [sum] {
    if (thread_index() < 63) {
      (void)Mma::reduce_keys(1.0f, sum);
    } else {
      (void)Mma::reduce_keys(2.0f, sum);
    }
  };
  expect_error(64, kernel,
               "block 0, wave 0: lanes of a wave do not meet: lanes 0-62 wait at shuffle_xor" +
                   here(line) + "; lane 63 waits at shuffle_xor" + here(line + 2));
}

TEST(Meetings, AWaveMissingAtABarrierIsNamed) {
  const int line = __LINE__ + 2;
  const Kernel kernel = [] {
    if (thread_index() < 64) block_barrier();
  };
  expect_error(192, kernel,
               "block 0: threads of a block do not meet: threads 0-63 wait at the block barrier" +
                   here(line) + "; threads 64-191 have returned");
}

TEST(Meetings, WavesAtTwoBarriersAreNamed) {
  const int line = __LINE__ + 3;
  const Kernel kernel = [] {
    if (thread_index() < 64) {
      block_barrier();
    } else {
      block_barrier();
    }
  };
  expect_error(128, kernel,
               "block 0: threads of a block do not meet: threads 0-63 wait at the block barrier" +
                   here(line) + "; threads 64-127 wait at the block barrier" + here(line + 2));
}

TEST(Meetings, AWaveOfAnotherSizeIsRefused) {
  expect_error_with(64, [] { (void)ballot<Sm90>(true); },
                    {"ballot is for waves of 32 lanes, the launch has waves of 64"});
}

// ------------------------------------------------------------ values that have to agree

TEST(Agreement, AValueThatIsNotUniformIsNamed) {
  expect_error(
      128, [] { (void)uniform<Gfx942>(thread_index() == 100 ? -7 : 3); },
      "block 0, wave 1: uniform: lane 0 has 3, lane 36 has -7");
}

TEST(Agreement, LanesExchangeWithOneMaskInsideOfTheWave) {
  expect_error(
      64, [] { (void)shuffle_xor<Gfx942>(1u, thread_index() < 32 ? 1 : 2); },
      "block 0, wave 0: shuffle_xor: lanes have different masks");
  expect_error(
      64, [] { (void)shuffle<Gfx942>(1u, 64); },
      "block 0, wave 0: shuffle: lane or mask 64 in a wave of 64");
  expect_error(
      64, [] { (void)shuffle<Gfx942>(1u, -1); },
      "block 0, wave 0: shuffle: lane or mask -1 in a wave of 64");
}

TEST(Agreement, UniformLoadsHaveOneAddressAndAllLanes) {
  static const int32_t values[2] = {};
  const int line = __LINE__ + 1;
  expect_error_with(64, [] { (void)load_uniform(values + (thread_index() == 9 ? 1 : 0)); },
                    {"load_uniform" + here(line) + " of ", ", but thread "});
  const int other = __LINE__ + 2;
  const Kernel kernel = [] {
    if (thread_index() != 9) (void)load_uniform(values);
  };
  expect_error_with(
      64, kernel,
      {"block 0, wave 0: lane 9 did not come to load_uniform" + here(other) + " as thread "});
}

// ------------------------------------------------------------ shared memory

TEST(SharedMemory, ReadingWhatNobodyWroteIsAnError) {
  const Kernel kernel = [] {
    ATTNPLAN_SHARED(Shared, stage);
    if (thread_index() != 17) stage.first.store(thread_index(), 1.0f);
    block_barrier();
    (void)stage.first.load(thread_index());
  };
  expect_error(64, kernel,
               "block 0, thread 17 (wave 0, lane 17): reads element 17 of array 0 of shared stage, "
               "which nobody wrote");
}

TEST(SharedMemory, NothingSurvivesABlock) {
  const Kernel kernel = [] {
    ATTNPLAN_SHARED(Shared, stage);
    static int written_in = -1;  // by the first block that runs
    if (written_in < 0) written_in = block_index();
    if (block_index() == written_in) stage.second.store(thread_index(), 1);
    block_barrier();
    (void)stage.second.load(thread_index());
  };
  const std::string message = error_of(64, kernel, 3, 4);
  EXPECT_NE(message.find("of array 1 of shared stage, which nobody wrote"), std::string::npos)
      << message;
}

TEST(SharedMemory, ReadingWhatAnotherThreadWroteIsARace) {
  const Kernel kernel = [] {
    ATTNPLAN_SHARED(Shared, stage);
    if (thread_index() == 3) stage.second.store(40, 1);
    (void)ballot<Gfx942>(true);  // makes the write come first, and orders no memory
    if (thread_index() == 8) (void)stage.second.load(40);
  };
  expect_error(64, kernel,
               "block 0, thread 8 (wave 0, lane 8): race: reads element 40 of array 1 of shared "
               "stage, which thread 3 wrote since the last barrier");
}

TEST(SharedMemory, WritingWhatAnotherThreadWroteIsARace) {
  const Kernel kernel = [] {
    ATTNPLAN_SHARED(Shared, stage);
    if (thread_index() == 65) stage.first.store(2, 1.0f);
    if (thread_index() == 66) stage.first.store(2, 1.0f);
  };
  expect_error_with(128, kernel,
                    {"race: writes element 2 of array 0 of shared stage, which thread 6",
                     " wrote since the last barrier"});
}

TEST(SharedMemory, WritingWhatAnotherThreadReadIsARace) {
  const Kernel kernel = [] {
    ATTNPLAN_SHARED(Shared, stage);
    if (thread_index() == 0) stage.first.store(5, 1.0f);
    block_barrier();
    if (thread_index() <= 1) (void)stage.first.load(5);
    (void)ballot<Gfx942>(true);
    if (thread_index() == 0) stage.first.store(5, 2.0f);
  };
  expect_error(64, kernel,
               "block 0, thread 0 (wave 0, lane 0): race: writes element 5 of array 0 of shared "
               "stage, which thread 1 read since the last barrier");
}

TEST(SharedMemory, AnIndexOutsideOfAnArrayIsNamed) {
  const auto access = [](int index) {
    return [index] {
      ATTNPLAN_SHARED(Shared, stage);
      if (thread_index() == 1) stage.second.store(index, 1);
    };
  };
  const std::string outside = " is outside of array 1 of shared stage, which has 64 elements";
  const std::string where = "block 0, thread 1 (wave 0, lane 1): element ";
  expect_error(64, access(64), where + "64" + outside);
  expect_error(64, access(-1), where + "-1" + outside);
}

// ------------------------------------------------------------ memory and registers

TEST(Memory, MisalignedVectorsAreErrors) {
  alignas(16) static uint32_t buffer[8] = {};
  expect_error_with(64, [] { (void)load_words<4>(buffer + 1); },
                    {"access of 16 bytes at 0x", ", which is not aligned"});
  expect_error_with(64, [] { (void)load_words_stream<2>(buffer + 1); },
                    {"access of 8 bytes at 0x"});
  expect_error_with(64, [] { store_words<4>(buffer + 2, Words<4>{}); }, {"access of 16 bytes at"});
  EXPECT_EQ(error_of(64, [] { (void)load_words<1>(buffer + 1); }), "no error");
}

TEST(Memory, SelectorsHaveNoSignBit) {
  expect_error_with(64, [] { (void)select_bytes(1, 2, 0x8000); }, {"select_bytes"});
  expect_error_with(64, [] { (void)select_bytes(1, 2, 0x10000); }, {"select_bytes"});
}

TEST(Registers, UninitialisedOnesShowInTheResult) {
  float result = 0;
  simt::launch(simt::options_for<Gfx942>(1), 1, 64, [&] {
    const Registers<uint32_t, 2> words;
    Registers<float, 4> sums;
    EXPECT_TRUE(std::isnan(sums[3]));
    sums.fill(0);
    const uint32_t ones[2] = {0x3f803f80, 0x3f803f80};
    // One lane's operand was never loaded: a row of the result is NaN, the others are not.
    Mfma16x16x16<Bf16>::mma(lane_index<Gfx942>() == 5 ? words.values : ones, ones, sums.values);
    EXPECT_EQ(std::isnan(sums[1]), lane_index<Gfx942>() / 16 == 1);
    if (thread_index() == 0) result = sums[0];
  });
  EXPECT_EQ(result, 16);
}

// Plain arrays too, by a compiler option: NaN, or too large to stay unseen.
TEST(Registers, UninitialisedArraysShowInTheResult) {
  simt::launch(simt::options_for<Gfx942>(1), 1, 64, [] {
    float sums[4];
    if (block_threads() == 1) sums[0] = sums[1] = sums[2] = sums[3] = 0;
    for (const float sum : sums) EXPECT_FALSE(std::fabs(sum) < 1e38f);
  });
}

TEST(Registers, IndicesAreChecked) {
  const auto access = [](int index) {
    return [index] {
      Registers<float, 4> registers;
      registers[index] = 0;
    };
  };
  expect_error_with(64, access(4), {"register 4 of 4"});
  expect_error_with(64, access(-1), {"register -1 of 4"});
}

// ------------------------------------------------------------ launches

TEST(Launches, RefuseWhatIsNoGrid) {
  const auto message = [](int wave, int grid, int block) {
    simt::Options options;
    options.wave = wave;
    try {
      simt::launch(options, grid, block, [] {});
    } catch (const simt::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(16, 1, 64), "a wave has 32 or 64 lanes, not 16");
  EXPECT_EQ(message(64, 0, 64), "a grid of 0 blocks");
  EXPECT_EQ(message(64, 1, 96),
            "a block of 96 threads, which is not 1 to 1024 in whole waves of 64");
  EXPECT_EQ(message(32, 1, 96), "no error");
  EXPECT_EQ(message(64, 1, 2048),
            "a block of 2048 threads, which is not 1 to 1024 in whole waves of 64");
}

TEST(Launches, DeviceFunctionsNeedOne) {
  EXPECT_THROW((void)thread_index(), simt::Error);
  EXPECT_THROW(block_barrier(), simt::Error);
  expect_error_with(64, [] { simt::launch(simt::Options(), 1, 64, [] {}); },
                    {"a launch inside of a launch"});
}

// Whatever ends a launch, lanes that wait are unwound and the next launch knows nothing of it.
TEST(Launches, UnwindEveryLane) {
  struct Counted {
    explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
    ~Counted() { --*alive_; }
    int* alive_;
  };
  int alive = 0;
  const Kernel kernel = [&alive] {
    const std::vector<int> on_the_heap(100);
    const Counted counted(&alive);
    block_barrier();
    if (thread_index() == 77) throw std::string("of the kernel");
    (void)ballot<Gfx942>(true);
    block_barrier();
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_THROW(simt::launch(simt::options_for<Gfx942>(seed), 3, 256, kernel), std::string);
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(error_of(256, [] { (void)ballot<Gfx942>(true); }), "no error");
}

}  // namespace
}  // namespace attnplan::hip
