// One block of lanes: runs them from meeting to meeting, and says who is missing where they fail to
// meet. Internal to the emulation.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "property/dice.h"
#include "simt/fiber.h"
#include "simt/launch.h"
#include "simt/machine.h"
#include "simt/shared_memory.h"

namespace attnplan::simt {

enum class Place { kReady, kInstruction, kBarrier, kReturned };

struct Block;

struct Lane {
  Block* block;
  Fiber* fiber;
  int thread;
  Place place = Place::kReady;
  // Where it waits, if it does.
  const Instruction* instruction = nullptr;
  Site site = {};
  size_t claims = 0;  // made since it last met others
};

// What the first lane to come there said (see claim()).
struct Claim {
  const char* name;
  uint64_t value;
  Site site;
  int thread;
};

struct Block {
  Block(const Options& options, int grid, int threads, const std::function<void()>& kernel,
        SumOrder order, property::Dice* dice);
  void run(int index);

  const Options options;
  const int grid;
  const std::function<void()>& kernel;
  const SumOrder order;
  int index = 0;
  SharedMemory shared;
  std::vector<Lane> lanes;
  std::vector<void*> operands;  // of the instruction that a lane waits at
  std::vector<Claim> claims;    // of the wave that runs, since its lanes last met
  std::exception_ptr error;
  bool unwinding = false;
  int executing_wave = -1;  // whose instruction is being executed

 private:
  void run_wave(int wave);
  void resume(Lane* lane);
  void meet(int wave);
  void check_claims(const Lane* first) const;
  bool release_barrier();
  void unwind();

  property::Dice* dice_;
  std::vector<int> ready_;  // waves
};

// The lane that runs, none between lanes.
extern constinit thread_local Lane* current_lane;
extern constinit thread_local Block* current_block_state;

// "block 3, thread 70 (wave 1, lane 6)", or the wave whose instruction is being executed.
std::string place_of(const Block& block);
// Who waits where, in words: lanes of a wave by lane, or all threads of a block.
std::string waits(const Lane* lanes, int count, const char* noun);
bool same_place(const Lane& a, const Lane& b);
// "wave.h:12".
std::string name_of(Site site);

}  // namespace attnplan::simt
