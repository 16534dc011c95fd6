#include "planner/schedule.h"

#include <algorithm>

#include "planner/work_list.h"

namespace attnplan {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Context length that the rows of a request have at least.
int64_t lowest_context(const Plan& plan, int32_t i) {
  if (!plan.context_inexact(i)) return plan.lanes->context_lens[i];
  return std::max<int64_t>(
      0, int64_t{plan.lanes->context_lens[i]} - (plan.state->config.decode_threshold - 1));
}

WorkTile make_tile(const Plan& plan, int32_t request, int32_t row_begin, int32_t row_end,
                   int32_t kv_tile) {
  const Config& config = plan.state->config;
  const int64_t context = plan.lanes->context_lens[request];
  const int64_t lowest = plan.inexact == 0 ? context : lowest_context(plan, request);
  int64_t kv_end = plan.max_seq_len(request);
  int64_t all_see = INT32_MAX;
  if (config.mask == Mask::kCausal) {
    kv_end = std::min(kv_end, context + row_end);
    all_see = std::min<int64_t>(all_see, lowest + row_begin + 1);
  }
  int64_t kv_begin = 0, window_all = 0;
  if (config.sliding_window > 0) {
    kv_begin = std::max<int64_t>(0, lowest + row_begin - config.sliding_window + 1);
    kv_begin = std::min(kv_begin, kv_end) / kv_tile * kv_tile;
    window_all = std::max<int64_t>(0, context + row_end - config.sliding_window);
  }
  return {request,
          row_begin,
          row_end,
          static_cast<int32_t>(kv_begin),
          static_cast<int32_t>(kv_end),
          kv_tile,
          static_cast<int32_t>(all_see),
          static_cast<int32_t>(std::min<int64_t>(window_all, INT32_MAX))};
}

void make_tiles(const Plan& plan, std::pmr::vector<WorkTile>* tiles) {
  const Config& config = plan.state->config;
  const int32_t group = config.num_q_heads / config.num_kv_heads;
  tiles->clear();
  for (const attnplan_segment& segment : plan.parts->segments) {
    const Kernel& kernel = plan.state->kernels[static_cast<size_t>(segment.kernel)];
    const int32_t tile_rows = std::max(kernel.query_tile / group, 1);
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      const int32_t rows =
          plan.query_inexact(i) ? plan.lanes->query_bound : plan.lanes->query_lens[i];
      for (int32_t row = 0; row < rows; row += tile_rows) {
        tiles->push_back(make_tile(plan, i, row, std::min(row + tile_rows, rows), kernel.kv_tile));
        if (rows - row <= tile_rows) break;  // row + tile_rows could pass int32
      }
    }
  }
}

// Every (tile, KV head) in order.
template <typename Visit>
void for_each_tile(const WorkList& list, int32_t heads, Visit visit) {
  for (const WorkTile& tile : list.tiles) {
    for (int32_t head = 0; head < heads; ++head) visit(tile, head);
  }
}

int64_t total_cost(const WorkList& list, int32_t heads) {
  int64_t tokens = 0;
  for (const WorkTile& tile : list.tiles) tokens += tile.tokens() + kItemOverheadTokens;
  return tokens * heads;
}

// Hands out a budget per worker: the remaining cost over the remaining workers, so that rounding
// never piles up on the last one.
class Budget {
 public:
  Budget(WorkBuilder* builder, int64_t cost, int32_t workers, bool splits)
      : builder_(*builder), cost_(cost), workers_(workers), splits_(splits) {
    renew();
  }
  int64_t left() const { return target_ - builder_.load(); }
  bool last_worker() const { return workers_ == 1; }
  void add_cost(int64_t cost) { cost_ += cost; }
  void next_worker() {
    cost_ -= builder_.load();
    builder_.finish_worker();
    --workers_;
    renew();
  }

 private:
  // Nearly every border between two workers splits a tile, which costs one more item.
  void renew() {
    const int64_t cost = cost_ + (splits_ ? (workers_ - 1) * kItemOverheadTokens : 0);
    target_ = workers_ > 0 ? ceil_div(cost, workers_) : 0;
  }
  WorkBuilder& builder_;
  int64_t cost_;
  int64_t target_ = 0;
  int32_t workers_;
  bool splits_;
};

// Contiguous ranges of all KV, one a worker: a tile is cut where the worker's budget ends.
void stream_k(WorkList* list, int32_t heads, int32_t workers) {
  WorkBuilder builder(list);
  Budget budget(&builder, total_cost(*list, heads), workers, true);
  for_each_tile(*list, heads, [&](const WorkTile& tile, int32_t head) {
    int32_t at = tile.kv_begin;
    for (bool done = false; !done;) {
      const int64_t left = tile.kv_end - at;
      const int64_t room = budget.left() - kItemOverheadTokens;
      // Half a KV tile either way: borders fall on multiples of the tile.
      int64_t take = (room + tile.kv_tile / 2) / tile.kv_tile * tile.kv_tile;
      if (budget.last_worker() || take >= left) {
        take = left;
      } else if (take <= 0 && builder.load() > 0) {
        budget.next_worker();
        continue;
      } else {
        take = std::max<int64_t>(take, std::min<int64_t>(tile.kv_tile, left));
      }
      const auto end = static_cast<int32_t>(at + take);
      builder.add(tile, head, at, end);
      at = end;
      done = at == tile.kv_end;  // also where there was no KV: somebody must write the output
      if (!done) {
        budget.add_cost(kItemOverheadTokens);
        budget.next_worker();
      }
    }
  });
  if (builder.load() > 0) builder.finish_worker();
  builder.finish(ATTNPLAN_WORK_LIST_STREAM_K, workers);
}

// Items in order, whole ones: a worker stops where the next would take it further from its share.
class WholeItems {
 public:
  WholeItems(WorkList* list, int64_t cost, int32_t workers)
      : builder_(list), budget_(&builder_, cost, workers, false) {}
  void add(const WorkTile& tile, int32_t head, int32_t begin, int32_t end) {
    const int64_t cost = end - begin + kItemOverheadTokens;
    if (builder_.load() > 0 && !budget_.last_worker() && budget_.left() < (cost + 1) / 2) {
      budget_.next_worker();
    }
    builder_.add(tile, head, begin, end);
  }
  void finish(int32_t policy, int32_t workers) {
    if (builder_.load() > 0) builder_.finish_worker();
    builder_.finish(policy, workers);
  }

 private:
  WorkBuilder builder_;
  Budget budget_;
};

int64_t chunk_count(const WorkList& list, int32_t heads, int64_t chunk) {
  int64_t count = 0;
  for (const WorkTile& tile : list.tiles) {
    count += std::max<int64_t>(ceil_div(tile.tokens(), chunk), 1);
  }
  return count * heads;
}

// The smallest chunk (in steps of the coarsest KV tile) with at most one item a worker; the longest
// tile where there are more tiles than workers.
int64_t equal_chunk_tokens(const WorkList& list, int32_t heads, int32_t workers) {
  int64_t step = 1, longest = 1;
  for (const WorkTile& tile : list.tiles) {
    step = std::max<int64_t>(step, tile.kv_tile);
    longest = std::max<int64_t>(longest, tile.tokens());
  }
  int64_t low = 1, high = ceil_div(longest, step);
  if (chunk_count(list, heads, high * step) > workers) return high * step;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (chunk_count(list, heads, middle * step) <= workers) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high * step;
}

// Every tile in as few pieces as the chunk allows, all nearly of one size.
void equal_chunks(WorkList* list, int32_t heads, int32_t workers) {
  const int64_t chunk = equal_chunk_tokens(*list, heads, workers);
  const bool one_each = chunk_count(*list, heads, chunk) <= workers;
  int64_t cost = 0;
  for (const WorkTile& tile : list->tiles) {
    const int64_t pieces = std::max<int64_t>(ceil_div(tile.tokens(), chunk), 1);
    cost += (tile.tokens() + pieces * kItemOverheadTokens) * heads;
  }
  WorkBuilder single(list);
  WholeItems packed(list, cost, workers);
  for_each_tile(*list, heads, [&](const WorkTile& tile, int32_t head) {
    const int64_t pieces = std::max<int64_t>(ceil_div(tile.tokens(), chunk), 1);
    const int64_t kv_tiles = ceil_div(tile.tokens(), tile.kv_tile);
    for (int64_t p = 0; p < pieces; ++p) {
      const auto cut = [&](int64_t piece) {
        return static_cast<int32_t>(std::min<int64_t>(
            tile.kv_begin + kv_tiles * piece / pieces * tile.kv_tile, tile.kv_end));
      };
      if (one_each) {
        single.add(tile, head, cut(p), cut(p + 1));
        single.finish_worker();
      } else {
        packed.add(tile, head, cut(p), cut(p + 1));
      }
    }
  });
  if (one_each) {
    single.finish(ATTNPLAN_WORK_LIST_EQUAL_CHUNKS, workers);
  } else {
    packed.finish(ATTNPLAN_WORK_LIST_EQUAL_CHUNKS, workers);
  }
}

// Cuts at multiples of `chunk` tokens of the sequence (rounded up to whole KV tiles), whatever the
// batch: a request's items do not depend on its neighbours.
void fixed_chunks(WorkList* list, int32_t heads, int32_t workers, int64_t chunk) {
  // In whole KV tiles.
  const auto chunk_of = [chunk](const WorkTile& tile) {
    return ceil_div(chunk, tile.kv_tile) * tile.kv_tile;
  };
  const auto pieces_of = [&](const WorkTile& tile) {
    const int64_t size = chunk_of(tile);
    return std::max<int64_t>(ceil_div(tile.kv_end, size) - tile.kv_begin / size, 1);
  };
  int64_t cost = 0;
  for (const WorkTile& tile : list->tiles) {
    cost += (tile.tokens() + pieces_of(tile) * kItemOverheadTokens) * heads;
  }
  WholeItems items(list, cost, workers);
  for_each_tile(*list, heads, [&](const WorkTile& tile, int32_t head) {
    const int64_t size = chunk_of(tile);
    int64_t at = tile.kv_begin;
    do {
      const int64_t end = std::min<int64_t>((at / size + 1) * size, tile.kv_end);
      items.add(tile, head, static_cast<int32_t>(at), static_cast<int32_t>(end));
      at = end;
    } while (at < tile.kv_end);
  });
  items.finish(ATTNPLAN_WORK_LIST_FIXED, workers);
}

}  // namespace

WorkBounds work_bounds(const Config& config, int64_t tiles, int64_t max_seq_len) {
  const int64_t workers = config.num_workers;
  if (config.work == Work::kFixed) {
    const int64_t pieces = ceil_div(max_seq_len, config.work_fixed_tokens) + 1;
    return {tiles * pieces, tiles, tiles * pieces};
  }
  // stream_k cuts at most once between two workers; equal chunks are one a worker, or whole tiles.
  return {tiles + workers, std::min(tiles, workers), 2 * workers};
}

void schedule(Plan* plan) {
  const Config& config = plan->state->config;
  WorkList* list = &plan->parts->work;
  make_tiles(*plan, &list->tiles);
  const int32_t heads = config.num_kv_heads, workers = config.num_workers;
  switch (config.work) {
    case Work::kFixed:
      fixed_chunks(list, heads, workers, config.work_fixed_tokens);
      break;
    case Work::kEqualChunks:
      equal_chunks(list, heads, workers);
      break;
    case Work::kAuto: {
      equal_chunks(list, heads, workers);
      const int64_t equal = list->summary.makespan;
      stream_k(list, heads, workers);
      if (equal <= list->summary.makespan) equal_chunks(list, heads, workers);
      break;
    }
    default:
      stream_k(list, heads, workers);
  }
  attnplan_work& summary = list->summary;
  const auto tile_of = [plan](int32_t Kernel::*tile) {
    int32_t common = 0;
    for (const attnplan_segment& s : plan->parts->segments) {
      const int32_t size = plan->state->kernels[static_cast<size_t>(s.kernel)].*tile;
      if (common != 0 && size != common) return 0;
      common = size;
    }
    return common;
  };
  summary.query_tile = tile_of(&Kernel::query_tile);
  summary.kv_tile = tile_of(&Kernel::kv_tile);
  summary.max_slots =
      config.work == Work::kFixed
          ? static_cast<int32_t>(std::min<int64_t>(plan->state->capacity.merge_slots, INT32_MAX))
          : 2 * workers;
}

}  // namespace attnplan
