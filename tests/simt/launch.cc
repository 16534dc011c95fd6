#include "simt/launch.h"

#include <algorithm>
#include <numeric>

#include "simt/block.h"

namespace attnplan::simt {
namespace {

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
  if (options.wave != 32 && options.wave != 64) throw Error("a wave has 32 or 64 lanes");
  if (grid < 1 || block < 1 || block > 1024) throw Error("bad grid or block size");
  if (block % options.wave != 0) throw Error("a block is not a whole number of waves");
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
