#include "simt/launch.h"

#include <algorithm>
#include <numeric>

#include "simt/block.h"

namespace attnplan::simt {
namespace {

constexpr int kMostThreads = 1024;

template <class Container>
void shuffle(Container* values, property::Dice* dice) {
  for (size_t i = values->size(); i > 1; --i)
    std::swap((*values)[i - 1], (*values)[dice->next() % i]);
}

SumOrder draw_order(const Options& options, property::Dice* dice) {
  SumOrder order = {};
  std::iota(order.k.begin(), order.k.end(), uint8_t{0});
  shuffle(&order.k, dice);
  order.in_double = dice->percent(50);
  order.addend_last = dice->percent(50);
  order.flush_subnormals = options.flush_subnormals;
  return order;
}

// Sets the current block for as long as it lives.
class Current {
 public:
  explicit Current(Block* block) { current_block_state = block; }
  ~Current() { current_block_state = nullptr; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

}  // namespace

void launch(const Options& options, int grid, int block, const std::function<void()>& kernel) {
  const int wave = options.wave;
  if (wave != 32 && wave != 64) {
    throw Error("a wave has 32 or 64 lanes, not " + std::to_string(wave));
  }
  if (grid < 1) throw Error("a grid of " + std::to_string(grid) + " blocks");
  if (block < 1 || block > kMostThreads || block % wave != 0) {
    throw Error("a block of " + std::to_string(block) + " threads, which is not 1 to " +
                std::to_string(kMostThreads) + " in whole waves of " + std::to_string(wave));
  }
  if (current_block_state != nullptr) throw Error("a launch inside of a launch");
  property::Dice dice(options.seed);
  std::vector<int> blocks(static_cast<size_t>(grid));
  std::iota(blocks.begin(), blocks.end(), 0);
  shuffle(&blocks, &dice);
  Block state(options, grid, block, kernel, draw_order(options, &dice), &dice);
  const Current current(&state);
  for (const int index : blocks) state.run(index);
}

}  // namespace attnplan::simt
