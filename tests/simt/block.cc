#include "simt/block.h"

#include <algorithm>
#include <numeric>

namespace attnplan::simt {

constinit thread_local Lane* current_lane = nullptr;
constinit thread_local Block* current_block_state = nullptr;

namespace {

// Thrown at the meeting a lane waits at when another has failed.
struct Unwind {};

// Fibers outlive launches: making one costs more than most launches of a test.
Fiber* pooled_fiber(size_t number) {
  static thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  while (fibers.size() <= number) fibers.push_back(std::make_unique<Fiber>(fibers.size()));
  return fibers[number].get();
}

void lane_body(void* argument) {
  Lane* lane = static_cast<Lane*>(argument);
  try {
    if (!lane->block->unwinding) lane->block->kernel();
  } catch (const Unwind&) {
  } catch (...) {
    lane->block->error = std::current_exception();
  }
  lane->place = Place::kReturned;
}

}  // namespace

Block::Block(const Options& launch_options, int launch_grid, int threads,
             const std::function<void()>& launch_kernel, SumOrder sum_order, property::Dice* dice)
    : options(launch_options),
      grid(launch_grid),
      kernel(launch_kernel),
      order(sum_order),
      operands(static_cast<size_t>(threads)),
      dice_(dice) {
  for (int thread = 0; thread < threads; ++thread) {
    lanes.push_back({this, pooled_fiber(static_cast<size_t>(thread)), thread});
  }
}

void Block::run(int block_index) {
  index = block_index;
  shared.begin_block();
  for (Lane& lane : lanes) {
    lane.place = Place::kReady;
    lane.fiber->start(lane_body, &lane);
  }
  try {
    ready_.resize(lanes.size() / static_cast<size_t>(options.wave));
    std::iota(ready_.begin(), ready_.end(), 0);
    while (!ready_.empty() || release_barrier()) {
      const size_t drawn = dice_->next() % ready_.size();
      std::swap(ready_[drawn], ready_.back());
      run_wave(ready_.back());
    }
  } catch (...) {
    unwind();
    throw;
  }
}

// Any odd stride visits every lane of a power of two.
void Block::run_wave(int wave) {
  const auto size = static_cast<unsigned>(options.wave);
  const uint64_t drawn = dice_->next();
  const auto first = static_cast<unsigned>(drawn) % size;
  const auto stride = static_cast<unsigned>(drawn >> 32) % size | 1u;
  claims.clear();
  for (unsigned i = 0; i < size; ++i) {
    Lane* lane = &lanes[static_cast<unsigned>(wave) * size + (first + i * stride) % size];
    lane->claims = 0;
    resume(lane);
    if (error) std::rethrow_exception(error);
  }
  meet(wave);
}

void Block::resume(Lane* lane) {
  current_lane = lane;
  lane->fiber->resume();
  current_lane = nullptr;
}

void Block::meet(int wave) {
  Lane* const first = lanes.data() + wave * options.wave;
  const auto is_elsewhere = [first](const Lane& lane) { return !same_place(*first, lane); };
  executing_wave = wave;
  if (std::any_of(first, first + options.wave, is_elsewhere)) {
    fail("lanes of a wave do not meet: " + waits(first, options.wave, "lane"));
  }
  check_claims(first);
  if (first->place == Place::kInstruction) {
    const Instruction& instruction = *first->instruction;
    instruction.execute(WaveOperands(&operands[static_cast<size_t>(first->thread)], options.wave,
                                     instruction.detail, order));
    std::for_each(first, first + options.wave, [](Lane& lane) { lane.place = Place::kReady; });
  } else {
    ready_.pop_back();
  }
  executing_wave = -1;
}

void Block::check_claims(const Lane* first) const {
  for (int lane = 0; lane < options.wave; ++lane) {
    if (first[lane].claims == claims.size()) continue;
    const Claim& missed = claims[first[lane].claims];
    fail("lane " + std::to_string(lane) + " did not come to " + missed.name + " (" +
         name_of(missed.site) + ") as thread " + std::to_string(missed.thread) + " did");
  }
}

// False where all threads have returned.
bool Block::release_barrier() {
  const auto is_elsewhere = [this](const Lane& lane) { return !same_place(lanes[0], lane); };
  if (std::any_of(lanes.begin(), lanes.end(), is_elsewhere)) {
    fail("threads of a block do not meet: " +
         waits(lanes.data(), static_cast<int>(lanes.size()), "thread"));
  }
  if (lanes[0].place == Place::kReturned) return false;
  shared.pass_barrier();
  for (Lane& lane : lanes) lane.place = Place::kReady;
  ready_.resize(lanes.size() / static_cast<size_t>(options.wave));
  std::iota(ready_.begin(), ready_.end(), 0);
  return true;
}

// A lane that has not begun has nothing to unwind, but its fiber has to become idle too.
void Block::unwind() {
  unwinding = true;
  for (Lane& lane : lanes) {
    if (!lane.fiber->idle()) resume(&lane);
  }
}

// ------------------------------------------------------------ what lanes call

namespace {

Lane& running_lane() {
  if (current_lane == nullptr) throw Error("called outside of a launch");
  return *current_lane;
}

void wait_at(Lane* lane, Place place, const Instruction* instruction, Site site) {
  lane->place = place;
  lane->instruction = instruction;
  lane->site = site;
  lane->fiber->suspend();
  if (lane->block->unwinding) throw Unwind();
}

}  // namespace

SharedMemory& shared_memory() { return running_lane().block->shared; }

int current_thread() { return running_lane().thread; }
int current_block() { return running_lane().block->index; }
int block_size() { return static_cast<int>(running_lane().block->lanes.size()); }
int grid_size() { return running_lane().block->grid; }

void wave_instruction(const Instruction& instruction, void* operands, int lanes, Site site) {
  Lane& lane = running_lane();
  if (lanes != lane.block->options.wave) {
    fail(std::string(instruction.name) + " is for waves of " + std::to_string(lanes) +
         " lanes, the launch has waves of " + std::to_string(lane.block->options.wave));
  }
  lane.block->operands[static_cast<size_t>(lane.thread)] = operands;
  wait_at(&lane, Place::kInstruction, &instruction, site);
}

void claim(const char* name, uint64_t value, Site site) {
  Lane& lane = running_lane();
  std::vector<Claim>& claims = lane.block->claims;
  if (lane.claims == claims.size()) claims.push_back({name, value, site, lane.thread});
  const Claim& made = claims[lane.claims++];
  if (made.site.line == site.line && made.value == value) return;
  fail(std::string(name) + " (" + name_of(site) + ") of " + std::to_string(value) +
       ", but thread " + std::to_string(made.thread) + " came to " + made.name + " (" +
       name_of(made.site) + ") of " + std::to_string(made.value));
}

void barrier(Site site) { wait_at(&running_lane(), Place::kBarrier, nullptr, site); }

}  // namespace attnplan::simt
