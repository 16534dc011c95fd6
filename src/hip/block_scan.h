// Sums over the threads of a block. Every thread of the block takes part in each call, and its
// number of threads is a multiple of the wave.
#pragma once

#include <cstdint>

#include "hip/wave.h"

namespace attnplan::hip {

inline constexpr int kBlockMaxWaves = 32;

struct BlockTotals {  // part of a kernel's shared memory; one call at a time
  SharedArray<uint32_t, 2 * kBlockMaxWaves> of_wave;
};

inline constexpr uint32_t kMostElements = INT32_MAX;

// Counts of elements, which end at what an index reaches.
ATTNPLAN_DEVICE uint32_t add_counts(uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;  // both at most kMostElements
  return sum < kMostElements ? sum : kMostElements;
}

struct ScanResult {
  uint32_t before;  // of the threads in front of this one
  uint32_t total;
};

template <class Arch>
ATTNPLAN_DEVICE ScanResult scan_counts(uint32_t count, BlockTotals* totals) {
  const int lane = lane_index<Arch>(), own_wave = wave_index<Arch>();
  uint32_t with_own = count;
  for (int distance = 1; distance < Arch::kWave; distance *= 2) {
    const uint32_t other = shuffle<Arch>(with_own, lane < distance ? lane : lane - distance);
    if (lane >= distance) with_own = add_counts(with_own, other);
  }
  const uint32_t in_wave = shuffle<Arch>(with_own, lane == 0 ? 0 : lane - 1);
  if (lane == Arch::kWave - 1) totals->of_wave.store(own_wave, with_own);
  block_barrier();
  ScanResult result{lane == 0 ? 0 : in_wave, 0};
  for (int wave = 0; wave < block_threads() / Arch::kWave; ++wave) {
    const uint32_t of_wave = totals->of_wave.load(wave);
    if (wave < own_wave) result.before = add_counts(result.before, of_wave);
    result.total = add_counts(result.total, of_wave);
  }
  block_barrier();
  return result;
}

template <class Arch>
ATTNPLAN_DEVICE int64_t shuffle_xor_int64(int64_t value, int mask) {
  const auto bits = static_cast<uint64_t>(value);
  const uint32_t low = shuffle_xor<Arch>(static_cast<uint32_t>(bits), mask);
  const uint32_t high = shuffle_xor<Arch>(static_cast<uint32_t>(bits >> 32), mask);
  return static_cast<int64_t>(low | static_cast<uint64_t>(high) << 32);
}

// One value of all threads, for all threads. `combine` is associative and commutative.
template <class Arch, class Combine>
ATTNPLAN_DEVICE int64_t reduce_block(int64_t value, Combine combine, BlockTotals* totals) {
  const int own_wave = wave_index<Arch>();
  for (int mask = 1; mask < Arch::kWave; mask *= 2) {
    value = combine(value, shuffle_xor_int64<Arch>(value, mask));
  }
  if (lane_index<Arch>() == 0) {
    const auto bits = static_cast<uint64_t>(value);
    totals->of_wave.store(2 * own_wave, static_cast<uint32_t>(bits));
    totals->of_wave.store(2 * own_wave + 1, static_cast<uint32_t>(bits >> 32));
  }
  block_barrier();
  for (int wave = 0; wave < block_threads() / Arch::kWave; ++wave) {
    const uint64_t low = totals->of_wave.load(2 * wave), high = totals->of_wave.load(2 * wave + 1);
    const auto of_wave = static_cast<int64_t>(low | high << 32);
    value = wave == 0 ? of_wave : combine(value, of_wave);
  }
  block_barrier();
  return value;
}

struct Sum {
  ATTNPLAN_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a + b; }
};
struct Most {
  ATTNPLAN_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a > b ? a : b; }
};
struct Least {
  ATTNPLAN_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};
struct Bits {
  ATTNPLAN_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a | b; }
};

}  // namespace attnplan::hip
