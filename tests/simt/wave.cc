// The definitions of the exchanges between lanes.
#include "hip/wave.h"

#include <cstdio>

namespace attnplan::simt {
namespace {

void check_lane(int lane, int lanes) {
  if (lane < 0 || lane >= lanes) {
    fail("shuffle: lane or mask " + std::to_string(lane) + " in a wave of " +
         std::to_string(lanes));
  }
}

void execute_shuffle(const WaveOperands& operands) {
  for (int lane = 0; lane < operands.lanes(); ++lane) {
    Exchange& own = operands.of<Exchange>(lane);
    check_lane(own.lane, operands.lanes());
    own.result = operands.of<Exchange>(own.lane).value;
  }
}

void execute_shuffle_xor(const WaveOperands& operands) {
  const int mask = operands.of<Exchange>(0).lane;
  check_lane(mask, operands.lanes());
  for (int lane = 0; lane < operands.lanes(); ++lane) {
    Exchange& own = operands.of<Exchange>(lane);
    if (own.lane != mask) fail("shuffle_xor: lanes have different masks");
    own.result = operands.of<Exchange>(lane ^ mask).value;
  }
}

void execute_ballot(const WaveOperands& operands) {
  uint64_t result = 0;
  for (int lane = 0; lane < operands.lanes(); ++lane) {
    result |= static_cast<uint64_t>(operands.of<Exchange>(lane).value != 0) << lane;
  }
  for (int lane = 0; lane < operands.lanes(); ++lane) operands.of<Exchange>(lane).result = result;
}

void execute_uniform(const WaveOperands& operands) {
  const uint32_t value = operands.of<Exchange>(0).value;
  for (int lane = 0; lane < operands.lanes(); ++lane) {
    Exchange& own = operands.of<Exchange>(lane);
    if (own.value != value) {
      fail("uniform: lane 0 has " + std::to_string(static_cast<int32_t>(value)) + ", lane " +
           std::to_string(lane) + " has " + std::to_string(static_cast<int32_t>(own.value)));
    }
    own.result = value;
  }
}

}  // namespace

const Instruction kShuffle = {"shuffle", execute_shuffle};
const Instruction kShuffleXor = {"shuffle_xor", execute_shuffle_xor};
const Instruction kBallot = {"ballot", execute_ballot};
const Instruction kUniform = {"uniform", execute_uniform};

void check_access(const void* address, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0) {
    char text[32];
    snprintf(text, sizeof(text), "%p", address);
    fail("access of " + std::to_string(bytes) + " bytes at " + text + ", which is not aligned");
  }
}

}  // namespace attnplan::simt
