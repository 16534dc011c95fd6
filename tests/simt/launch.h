// Runs a kernel on a simulated device: blocks one after the other, every lane of a block on a fiber
// of its own. Lanes run apart until all of a wave meet at the same wave instruction, or all of a
// block at the same barrier; the order of blocks, waves and lanes is drawn from a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

namespace attnplan::simt {

struct Options {
  uint64_t seed = 1;              // of every order: blocks, waves, lanes, sums of matrix products
  int wave = 64;                  // lanes
  bool flush_subnormals = false;  // matrix instructions: of 16-bit operands, sums and results
};

template <class Arch>
Options options_for(uint64_t seed) {
  return {seed, Arch::kWave, Arch::kFlushesSubnormals};
}

// What a kernel did wrong: says which block, wave, lanes or threads, and where.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `kernel` once on each of `block` threads of each of `grid` blocks. Throws Error, or what
// the kernel itself throws; either way every lane has been unwound.
void launch(const Options& options, int grid, int block, const std::function<void()>& kernel);

}  // namespace attnplan::simt
