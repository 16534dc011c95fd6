#include "hip/step.h"

#include <algorithm>

#include "hip/other_steps.h"
#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using property::Dice;

class Drawing {
 public:
  Drawing(const Description& description, Dice* dice)
      : d_(description), size_(description.size), dice_(dice) {}

  void lengths(Step* step) {
    step_ = step;
    switch (d_.batch) {
      case Batch::kUniform: {
        const int32_t context = least_context() + dice_->in32(0, size_.context);
        for (int32_t n = count(); n > 0; --n) add(1, context);
        break;
      }
      case Batch::kVerify: {
        const int32_t rows = dice_->in32(2, 8);
        for (int32_t n = count(); n > 0; --n) add(rows, least_context() + context());
        break;
      }
      case Batch::kRagged:
      case Batch::kShared:
        for (int32_t n = count(); n > 0; --n) add(dice_->in32(1, 8), context());
        break;
      case Batch::kPads:
        for (int32_t n = count(); n > 0; --n) {
          if (dice_->percent(40)) add_pad();
          add(dice_->in32(1, 4), context());
        }
        for (int32_t n = dice_->in32(0, 2); n > 0; --n) add_pad();
        break;
      case Batch::kOneRow:
        add(1, context());
        break;
      case Batch::kExtend:
        for (int32_t n = count(); n > 0; --n) add(dice_->in32(1, size_.rows), 1 + context());
        break;
      case Batch::kPrefill:
        for (int32_t n = count(); n > 0; --n) add(dice_->in32(1, 2 * size_.rows), 0);
        break;
      case Batch::kMixed:
        for (int32_t n = count(); n > 0; --n) add(1, 1 + context());
        for (int32_t n = count(); n > 0; --n) add(dice_->in32(20, 20 + size_.rows), 1 + context());
        for (int32_t n = count(); n > 0; --n) add(dice_->in32(1, size_.rows), 0);
        break;
      case Batch::kLong:
        add(dice_->in32(1, 4), size_.longest - dice_->in32(4, 20));
        break;
      case Batch::kClamped:
        step->phase = ATTNPLAN_PHASE_DRAFT;
        for (int32_t n = count(); n > 0; --n) add(dice_->in32(1, 6), 1 + context());
        break;
      case Batch::kEmpty:
        for (int32_t n = count(); n > 0; --n) {
          if (dice_->percent(40))
            add(dice_->in32(1, 3), context());
          else
            add_keys(dice_->in32(1, 40), dice_->pick<int32_t>({0, 1, 5, 30}));
        }
        break;
      case Batch::kIdle:
        for (int32_t n = dice_->in32(0, 2); n > 0; --n) add_pad();
        break;
    }
  }

 private:
  int32_t count() { return dice_->in32(1, size_.requests); }
  int32_t context() { return dice_->in32(0, size_.context); }
  // A uniform graph is for decodes.
  int32_t least_context() const { return d_.full_width ? 1 : 0; }
  void add(int32_t rows, int32_t context) {
    step_->query_lens.push_back(rows);
    step_->seq_lens.push_back(context + rows);
  }
  void add_pad() {
    step_->query_lens.push_back(0);
    step_->seq_lens.push_back(0);
  }
  // Under a full mask a request may have fewer keys than rows.
  void add_keys(int32_t rows, int32_t keys) {
    step_->query_lens.push_back(rows);
    step_->seq_lens.push_back(keys);
  }

  const Description& d_;
  const Size& size_;
  Dice* dice_;
  Step* step_ = nullptr;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A draft step may be short of a few tokens of its longest request.
int32_t draw_columns(const Step& step, Dice* dice) {
  int32_t longest = 0;
  for (const int32_t length : step.seq_lens) longest = std::max(longest, length);
  if (step.phase == ATTNPLAN_PHASE_DRAFT) {
    return std::max(static_cast<int32_t>((longest - 1) / step.block_size), 1);
  }
  return static_cast<int32_t>(std::max<int64_t>(ceil_div(longest, step.block_size), 1)) +
         dice->in32(0, 2);
}

// Distinct ids, the last block of the cache among them and most from its end.
std::vector<int32_t> draw_ids(int64_t needed, int32_t num_blocks, Dice* dice) {
  const auto wanted = static_cast<int32_t>(std::min<int64_t>(2 * needed + 2, num_blocks));
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < wanted; ++i) ids.push_back(num_blocks - 1 - i);
  if (wanted < num_blocks) ids.back() = 0;
  for (size_t i = ids.size() - 1; i > 1; --i) {  // the last block stays in front
    std::swap(ids[i], ids[1 + dice->next() % i]);
  }
  return ids;
}

void draw_blocks(const Description& description, Step* step, Dice* dice) {
  int64_t needed = 0;
  for (int32_t r = 0; r < step->requests(); ++r) {
    needed += ceil_div(step->keys(r), step->block_size);
  }
  step->num_blocks = static_cast<int32_t>(needed + std::max<int64_t>(description.unused_blocks, 1));
  const std::vector<int32_t> ids = draw_ids(needed, step->num_blocks, dice);
  step->block_ids.assign(static_cast<size_t>(int64_t{step->requests()} * step->columns), 0);
  for (int32_t& id : step->block_ids) id = dice->pick<int32_t>({-1, -7, 1 << 30, 0});
  size_t next = 0;
  for (int32_t r = 0; r < step->requests(); ++r) {
    const auto blocks = ceil_div(step->keys(r), step->block_size);
    for (int64_t b = 0; b < blocks; ++b) {
      int32_t& id = step->block_ids[static_cast<size_t>(int64_t{r} * step->columns + b)];
      // Whole blocks in front of a request's own rows may be those of the request before.
      const bool may_share = description.batch == Batch::kShared && r > 0 &&
                             (b + 1) * step->block_size <= step->position(r, 0) &&
                             (b + 1) * step->block_size <= step->position(r - 1, 0);
      id = may_share ? step->block_ids[static_cast<size_t>(int64_t{r - 1} * step->columns + b)]
                     : ids[next++];
    }
  }
}

}  // namespace

int64_t Step::keys(int32_t request) const {
  if (query_lens[request] == 0) return 0;
  return std::min<int64_t>(seq_lens[request], int64_t{columns} * block_size);
}

Step draw_step(const Description& description) {
  Dice dice(description.seed * 0x9e3779b97f4a7c15u + 1);
  Step step;
  step.block_size = description.block_size;
  Drawing(description, &dice).lengths(&step);
  step.columns = draw_columns(step, &dice);
  if (description.way == Way::kTaken || description.way == Way::kReplayed) ++step.columns;  // room
  step.row_begin.push_back(0);
  for (const int32_t rows : step.query_lens) step.row_begin.push_back(step.row_begin.back() + rows);
  draw_blocks(description, &step, &dice);
  if (description.graph_pads >= 0) {
    const int64_t rows =
        std::max<int64_t>(step.rows(), kOtherRows * (description.way == Way::kReplayed));
    step.graph_rows = static_cast<int32_t>(rows) + description.graph_pads;
  }
  return step;
}

Step draw_bounds(const Description& description, const Step& step) {
  Dice dice(description.seed * 0x9e3779b97f4a7c15u + 2);
  Step bounds = step;
  bounds.exact = false;
  for (int32_t r = 0; r < step.requests(); ++r) {
    const auto at = static_cast<size_t>(r);
    if (step.query_lens[at] == 0 || step.position(r, 0) <= 0) continue;
    const int32_t room = step.columns * step.block_size - step.seq_lens[at];
    bounds.seq_lens[at] += std::min(room, dice.in32(0, 20));
    // The host knows the blocks of drafts, too: any will do, nothing may be read there.
    const int64_t blocks = ceil_div(bounds.seq_lens[at], step.block_size);
    for (int64_t b = ceil_div(step.seq_lens[at], step.block_size); b < blocks; ++b) {
      bounds.block_ids[static_cast<size_t>(int64_t{r} * step.columns + b)] = 0;
    }
  }
  return bounds;
}

}  // namespace attnplan::hip_test
