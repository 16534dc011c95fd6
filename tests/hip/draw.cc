#include "hip/draw.h"

#include <initializer_list>

#include "property/dice.h"

namespace attnplan::hip_test {
namespace {

using property::Dice;

uint64_t mix(const std::string& name, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return Dice(hash ^ seed * 0x9e3779b97f4a7c15u).next();
}

void draw_heads(Dice* dice, Description* d) {
  if (dice->percent(20)) {  // multi-head
    d->num_kv_heads = dice->in32(1, 5);
    return;
  }
  d->num_kv_heads = dice->in32(1, 3);
  d->group = dice->percent(50) ? dice->pick<int32_t>({4, 8, 16}) : dice->in32(2, 16);
}

void draw_formats(Dice* dice, Description* d) {
  if (bytes_of(d->cache) == 2) {
    d->q = d->cache;
    return;
  }
  d->q = dice->pick({Format::kBf16, Format::kFp16});
  d->scales = dice->pick({Scales::kNone, Scales::kTensor, Scales::kTokenHead, Scales::kTokenHead});
}

void draw_cache(Dice* dice, Description* d) {
  d->layout = dice->pick({ATTNPLAN_LAYOUT_LBNHC, ATTNPLAN_LAYOUT_LBHNC, ATTNPLAN_LAYOUT_LHBNC,
                          ATTNPLAN_LAYOUT_LBHNC, ATTNPLAN_LAYOUT_BLHNC, ATTNPLAN_LAYOUT_BLNHC,
                          ATTNPLAN_LAYOUT_BHLNC});
  if (d->layout == ATTNPLAN_LAYOUT_LBNHC || d->layout == ATTNPLAN_LAYOUT_LBHNC) {
    d->packed = dice->percent(50);
  }
  d->page_size = dice->pick<int32_t>({16, 32, 64, 128});
  d->block_size = d->page_size * dice->pick<int32_t>({1, 1, 2, 3, 4});
  d->unused_blocks = dice->in(1, 9);
  // Room between blocks, as where the blocks of several layers lie together.
  if (dice->percent(40)) d->block_stride_pad = 16 * d->num_kv_heads * dice->in(1, 50);
}

void draw_rules(Dice* dice, Description* d) {
  if (d->batch == Batch::kEmpty || dice->percent(10)) d->mask = ATTNPLAN_MASK_FULL;
  // Which window a row has that stands behind its keys is nobody's question.
  if (d->batch != Batch::kEmpty && dice->percent(30))
    d->sliding_window = dice->in32(1, dice->percent(50) ? 20 : 200);
  if (dice->percent(20)) d->soft_cap = dice->pick({8.0, 30.0});
  if (dice->percent(20)) d->softmax_scale = dice->pick({0.05, 0.2});
  d->lse = dice->percent(70);
}

void draw_plan(Dice* dice, Description* d) {
  d->page_table = dice->percent(50);
  d->work = dice->pick<int32_t>({ATTNPLAN_WORK_STREAM_K, ATTNPLAN_WORK_EQUAL_CHUNKS,
                                 ATTNPLAN_WORK_FIXED, ATTNPLAN_WORK_AUTO});
  d->work_fixed_tokens = 128 * dice->in32(1, 3);
  d->num_workers = dice->pick<int32_t>({1, 2, 5, 8, 13});
  if (d->batch == Batch::kLong) d->num_workers = dice->pick<int32_t>({5, 13, 40});
  d->dense = dice->percent(50);
}

// From dice of its own: what is drawn without a graph stays what it was.
void draw_graph(Description* d) {
  Dice dice(mix(d->name, d->seed));
  const bool needs_one = d->way == Way::kPadded || d->way == Way::kReplayed;
  const bool may_have_one =
      d->way == Way::kRefresh || d->way == Way::kGraph || d->way == Way::kTaken;
  if (!needs_one && !(may_have_one && dice.percent(50))) return;
  d->graph_pads = dice.percent(20) && d->batch != Batch::kIdle ? 0 : dice.in32(1, 30);
  if (d->way != Way::kPadded) return;
  const bool uniform = d->batch == Batch::kUniform || d->batch == Batch::kVerify;
  d->full_width = uniform && dice.percent(50);
  d->compact = dice.percent(50);
  d->piecewise = !d->full_width && d->batch != Batch::kIdle && dice.percent(30);
}

}  // namespace

std::string name_of(const KernelLine& line) {
  std::string name = std::string(name_of(line.cache)) + "/d" + std::to_string(line.head_size);
  if (line.v_head_size != line.head_size) name += "+" + std::to_string(line.v_head_size);
  return name + (line.shuffle ? "/shuffle" : "/plain");
}

Description draw(const KernelLine& line, Batch batch, uint64_t seed, const Size& size) {
  Description d;
  d.name = name_of(line) + "/" + name_of(batch);
  d.seed = seed;
  d.cache = line.cache;
  d.head_size = line.head_size;
  d.v_head_size = line.v_head_size;
  d.shuffle = line.shuffle;
  d.batch = batch;
  d.size = size;
  Dice dice(mix(d.name, seed));
  draw_heads(&dice, &d);
  draw_formats(&dice, &d);
  draw_cache(&dice, &d);
  draw_rules(&dice, &d);
  draw_plan(&dice, &d);
  return d;
}

Description draw_way(const KernelLine& line, Batch batch, Way way, uint64_t seed,
                     const Size& size) {
  Description d = draw(line, batch, seed, size);
  d.way = way;
  constexpr const char* kNames[] = {"plan",   "refresh",  "graph",   "write",
                                    "padded", "replayed", "keyless", "taken"};
  d.name = std::string(kNames[static_cast<int>(way)]) + "/" + d.name;
  draw_graph(&d);
  // Scales of tokens come out of the values written: not those that were drawn.
  if (way == Way::kWrite && d.scales == Scales::kTokenHead) d.scales = Scales::kTensor;
  return d;
}

}  // namespace attnplan::hip_test
