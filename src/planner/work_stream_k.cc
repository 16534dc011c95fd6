#include "planner/work_stream_k.h"

#include <algorithm>
#include <numeric>

namespace attnplan {
namespace {

// Few tiles among many workers: each tile is cut by several, and what rounding to KV tiles leaves
// would matter. So every worker starts from where the last one really stopped, and the share of
// those to come is renewed.
class FewTiles {
 public:
  FewTiles(WorkCuts* cuts, int64_t cost) : cuts_(*cuts), cost_(cost), left_(cuts->workers) {
    renew();
  }

  // Cost in front of the tile, its number. False where only the last worker is left.
  bool add(int64_t position, int32_t tile, int64_t tokens, int64_t kv_tile) {
    int64_t at = 0;
    while (left_ > 1) {
      const int64_t room = share_ - load_ - kItemOverheadTokens + kv_tile / 2;
      const int64_t fits = room < kv_tile ? 0 : round_down(room, kv_tile);
      if (room < tokens - at && fits == 0 && load_ > 0) {
        begin_worker(position, tile, 0);
        continue;
      }
      const int64_t take = std::max(fits, kv_tile), whole = std::max(room, take);
      if (whole >= tokens - at) {
        load_ += tokens - at + kItemOverheadTokens;
        return true;
      }
      // A worker that begins here stops at the same distance, for as long as the share is the same.
      int64_t count = load_ > 0 ? 1 : cuts_until_renewal();
      if (count > 1) count = std::min(count, (tokens - at - whole + take - 1) / take);
      begin_workers(static_cast<int32_t>(count), position, tile, at, take);
      at += count * take;
    }
    return false;
  }
  int32_t workers_begun() const { return cuts_.workers - left_ + 1; }

 private:
  static int64_t round_down(int64_t value, int64_t step) {
    return (step & (step - 1)) == 0 ? value & -step : value - value % step;
  }
  int32_t cuts_until_renewal() const { return left_ <= 17 ? 1 : (left_ - 1) % 16 + 1; }
  // `count` workers in a row, of which each begins `step` tokens behind the one before and the
  // first so far behind token `at` of the tile.
  void begin_workers(int32_t count, int64_t position, int32_t tile, int64_t at, int64_t step) {
    cost_ -= load_ + count * step;  // an item more each, but a worker with its overhead less
    load_ = 0;
    const int32_t w = workers_begun();
    int32_t *const tiles = cuts_.tile + w, *const kvs = cuts_.kv + w;
    int32_t* const excess = cuts_.excess + w;
    auto kv = static_cast<int32_t>(at);
    auto beyond = static_cast<uint32_t>(position + at - (w - 1) * cuts_.share);
    const auto step32 = static_cast<int32_t>(step);
    const auto grows = static_cast<uint32_t>(step - cuts_.share);
    for (int32_t i = 0; i < count; ++i) {
      tiles[i] = tile;
      kvs[i] = kv += step32;
      excess[i] = static_cast<int32_t>(beyond += grows);
    }
    left_ -= count;
    // A division per worker would be half of all there is to do.
    if (left_ <= 16 || left_ % 16 == 0) renew();
  }
  void begin_worker(int64_t position, int32_t tile, int64_t kv) {
    begin_workers(1, position, tile, kv, 0);
  }
  // Nearly every border between two workers splits a tile, which costs one more item.
  void renew() {
    const auto cost = static_cast<uint64_t>(cost_ + (left_ - 1) * kItemOverheadTokens + left_ - 1);
    const auto left = static_cast<uint32_t>(left_);
    share_ =
        static_cast<int64_t>(cost <= UINT32_MAX ? static_cast<uint32_t>(cost) / left : cost / left);
  }

  WorkCuts& cuts_;
  int64_t cost_;  // of this worker and those to come
  int32_t left_;  // workers, this one included
  int64_t share_ = 0;
  int64_t load_ = 0;  // of this worker
};

// Workers from here on begin behind the last tile.
void fill_rest(WorkCuts* cuts, int32_t from, int64_t cost) {
  const int32_t end = cuts->workers + 1 + kCutsMargin;
  for (int32_t w = from; w < end; ++w) {
    cuts->tile[w] = cuts->num_tiles;
    cuts->kv[w] = 0;
  }
  for (int32_t w = from; w < end; ++w) {
    cuts->excess[w] = static_cast<int32_t>(cost - std::min(w, cuts->workers) * cuts->share);
  }
}

void locate_few(const WorkList& list, int64_t cost, WorkCuts* cuts) {
  FewTiles few(cuts, cost);
  int64_t position = 0;
  int32_t number = 0;
  for (int32_t head = 0; head < cuts->heads; ++head) {
    for (const WorkSpan& span : list.spans) {
      for (int32_t i = 0; i < span.count; ++i, ++number) {
        if (!few.add(position, number, span.tokens[i], span.kv_tile)) {
          return fill_rest(cuts, few.workers_begun(), cost);
        }
        position += span.tokens[i] + kItemOverheadTokens;
      }
    }
  }
  fill_rest(cuts, few.workers_begun(), cost);
}

void place_arrays(std::pmr::vector<int32_t>* memory, WorkCuts* cuts) {
  const size_t stride = static_cast<size_t>(cuts->workers) + 1 + 2 * kCutsMargin;
  if (memory->size() < 9 * stride) memory->resize(9 * stride);
  int32_t* at = memory->data() + kCutsMargin;
  for (int32_t** array : {&cuts->tile, &cuts->kv, &cuts->excess, &cuts->items, &cuts->front,
                          &cuts->rows, &cuts->flags, &cuts->slots, &cuts->merges}) {
    *array = at;
    at += stride;
  }
  cuts->tile[0] = cuts->kv[0] = cuts->excess[0] = 0;
}

}  // namespace

void cut_stream_k(const Isa& isa, int32_t heads, int32_t workers, bool causal, WorkList* list) {
  WorkCuts& cuts = list->cuts;
  list->is_cut = true;
  cuts.workers = workers;
  cuts.heads = heads;
  cuts.causal = causal;
  cuts.spans = list->spans.data();
  cuts.num_spans = static_cast<int32_t>(list->spans.size());
  int32_t tiles = 0;
  for (const WorkSpan& span : list->spans) tiles += span.count;
  cuts.num_tiles = tiles * cuts.heads;
  const int64_t head_cost =
      std::accumulate(list->span_costs.begin(), list->span_costs.end(), int64_t{0});
  const int64_t cost = head_cost * cuts.heads;
  // A cut makes one item more: each worker but the first begins with such a one, so the first has
  // an overhead less to share out.
  const int64_t shared = std::max<int64_t>(cost - kItemOverheadTokens, 0);
  cuts.share = shared / cuts.workers;
  cuts.fraction = static_cast<int32_t>(((shared % cuts.workers) << 16) / cuts.workers);
  place_arrays(&list->cut_arrays, &cuts);
  cuts.few_tiles = cuts.num_tiles <= cuts.workers / 4;
  if (cuts.few_tiles) {
    locate_few(*list, cost, &cuts);
  } else {
    isa.locate_cuts(head_cost, list->span_costs.data(), &cuts);
    fill_rest(&cuts, cuts.workers, cost);
  }
  isa.count_cuts(&cuts);
  attnplan_work& summary = list->summary;
  summary.policy = ATTNPLAN_WORK_LIST_STREAM_K;
  summary.workers = cuts.workers;
  summary.num_slots = cuts.num_splits + cuts.num_merges;
  summary.makespan = cuts.share + cuts.most;
  summary.mean = static_cast<double>(cost + cuts.num_splits * kItemOverheadTokens) / cuts.workers;
}

void write_merge_tiles(const WorkCuts& cuts, attnplan_merge_tile* out) {
  const int32_t *const tiles = cuts.tile, *const merges = cuts.merges;
  const int32_t count = cuts.num_merges, heads = cuts.heads, num_spans = cuts.num_spans;
  int32_t i = 0, begin = 0;
  for (int32_t head = 0; head < heads; ++head) {
    for (int32_t number = 0; number < num_spans; ++number) {
      const WorkSpan span = cuts.spans[number];  // a copy: no store below can change it
      for (; i < count && tiles[merges[i]] - begin < span.count; ++i) {
        const int32_t local = tiles[merges[i]] - begin;
        if (span.rows != nullptr) {
          out[i] = {span.request + local, head, 0, span.rows[local]};
        } else {
          const WorkTile& tile = span.tiles[local];
          out[i] = {tile.request, head, tile.row_begin, tile.row_end};
        }
      }
      begin += span.count;
    }
  }
}

void write_merge_indptr(const WorkCuts& cuts, int32_t* out) {
  const int32_t *const slots = cuts.slots, *const merges = cuts.merges;
  const int32_t count = cuts.num_merges, num_slots = cuts.num_splits + count;
  for (int32_t i = 0; i < count; ++i) out[i] = slots[merges[i]] - 2;
  out[count] = num_slots;
}

}  // namespace attnplan
