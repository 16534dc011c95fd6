#include "planner/schedule.h"

#include <algorithm>

#include "planner/work_list.h"
#include "planner/work_stream_k.h"
#include "planner/work_tiles.h"
#include "planner/write.h"

namespace attnplan {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Every (tile, KV head) in order.
template <typename Visit>
void for_each_tile(const WorkList& list, int32_t heads, Visit visit) {
  for (const WorkTile& tile : list.tiles) {
    for (int32_t head = 0; head < heads; ++head) visit(tile, head);
  }
}

// Hands out a budget per worker: the remaining cost over the remaining workers, so that rounding
// never piles up on the last one.
class Budget {
 public:
  Budget(WorkBuilder* builder, int64_t cost, int32_t workers)
      : builder_(*builder), cost_(cost), workers_(workers) {
    renew();
  }
  int64_t left() const { return target_ - builder_.load(); }
  bool last_worker() const { return workers_ == 1; }
  void next_worker() {
    cost_ -= builder_.load();
    builder_.finish_worker();
    --workers_;
    renew();
  }

 private:
  void renew() { target_ = workers_ > 0 ? ceil_div(cost_, workers_) : 0; }
  WorkBuilder& builder_;
  int64_t cost_;
  int64_t target_ = 0;
  int32_t workers_;
};

// Items in order, whole ones: a worker stops where the next would take it further from its share.
class WholeItems {
 public:
  WholeItems(WorkList* list, int64_t cost, int32_t workers)
      : builder_(list), budget_(&builder_, cost, workers) {}
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
class FixedChunks {
 public:
  FixedChunks(WorkList* list, int32_t heads, int64_t chunk)
      : list_(*list), heads_(heads), chunk_(chunk) {}

  int64_t count_items() const {
    int64_t count = 0;
    for (const WorkTile& tile : list_.tiles) count += pieces_of(tile);
    return count * heads_;
  }

  void build(int32_t workers) {
    WholeItems items(&list_, total_cost(), workers);
    for_each_tile(list_, heads_, [&](const WorkTile& tile, int32_t head) {
      const int64_t size = size_of(tile);
      int64_t at = tile.kv_begin;
      do {
        const int64_t end = std::min<int64_t>((at / size + 1) * size, tile.kv_end);
        items.add(tile, head, static_cast<int32_t>(at), static_cast<int32_t>(end));
        at = end;
      } while (at < tile.kv_end);
    });
    items.finish(ATTNPLAN_WORK_LIST_FIXED, workers);
  }

 private:
  // In whole KV tiles.
  int64_t size_of(const WorkTile& tile) const {
    return ceil_div(chunk_, tile.kv_tile) * tile.kv_tile;
  }
  int64_t pieces_of(const WorkTile& tile) const {
    const int64_t size = size_of(tile);
    return std::max<int64_t>(ceil_div(tile.kv_end, size) - tile.kv_begin / size, 1);
  }
  int64_t total_cost() const {
    int64_t tokens = 0;
    for (const WorkTile& tile : list_.tiles) tokens += tile.tokens();
    return tokens * heads_ + count_items() * kItemOverheadTokens;
  }

  WorkList& list_;
  int32_t heads_;
  int64_t chunk_;
};

// More tiles or items than this, for each KV head, no step of an engine needs.
constexpr int64_t kMostTiles = int64_t{1} << 22;

Status beyond(Error* error, int64_t value, int64_t limit, const char* what, const char* which) {
  return error->set(Status::kPlanError, Code::kCapacityExceeded, -1, value, limit,
                    "the work list takes at least %lld %s, beyond %s%lld",
                    static_cast<long long>(value), what, which, static_cast<long long>(limit));
}

// A list that could never be is refused before anything is made of it: `items` are the least that
// it has.
Status check_size(const Plan& plan, int64_t items, Error* error) {
  const int64_t heads = plan.state->config.num_kv_heads;
  if (items > kMostTiles * heads) {
    return beyond(error, items / heads, kMostTiles, "items for each KV head", "");
  }
  const int64_t most = INT32_MAX - plan.state->config.num_workers;
  const int64_t limit = max_plan_bytes(*plan.state);
  if (items > most) return beyond(error, items, most, "items", "");
  const int64_t bytes = items * static_cast<int64_t>(sizeof(attnplan_work_item));
  if (limit == 0 || bytes <= limit) return Status::kOk;
  return beyond(error, bytes, limit, "bytes", "max_sections_bytes ");
}

Status check_tiles(const Plan& plan, Error* error) {
  const int64_t tiles = count_tiles(plan);
  if (tiles > kMostTiles) return beyond(error, tiles, kMostTiles, "tiles for each KV head", "");
  return check_size(plan, tiles * plan.state->config.num_kv_heads, error);
}

// The tile size that the kernels of all segments agree on; 0 where they do not.
int32_t common_tile(const Plan& plan, int32_t Kernel::*tile) {
  int32_t common = 0;
  for (const attnplan_segment& s : plan.parts->segments) {
    const int32_t size = plan.state->kernels[static_cast<size_t>(s.kernel)].*tile;
    if (common != 0 && size != common) return 0;
    common = size;
  }
  return common;
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

Status schedule(Plan* plan, Error* error) {
  const Config& config = plan->state->config;
  WorkList* list = &plan->parts->work;
  const int32_t heads = config.num_kv_heads, workers = config.num_workers;
  if (const Status status = check_tiles(*plan, error); status != Status::kOk) return status;
  make_tiles(*plan, config.work != Work::kStreamK, list);
  const auto stream_k = [&] {
    const bool causal = config.mask == Mask::kCausal;
    cut_stream_k(*plan->state->isa, heads, workers, causal, list);
  };
  switch (config.work) {
    case Work::kFixed: {
      FixedChunks fixed(list, heads, config.work_fixed_tokens);
      const Status status = check_size(*plan, fixed.count_items(), error);
      if (status != Status::kOk) return status;
      fixed.build(workers);
      break;
    }
    case Work::kEqualChunks:
      equal_chunks(list, heads, workers);
      break;
    case Work::kAuto: {
      equal_chunks(list, heads, workers);
      const attnplan_work equal = list->summary;
      stream_k();
      if (equal.makespan > list->summary.makespan) break;
      list->is_cut = false;
      list->summary = equal;
      break;
    }
    default:
      stream_k();
  }
  attnplan_work& summary = list->summary;
  summary.query_tile = common_tile(*plan, &Kernel::query_tile);
  summary.kv_tile = common_tile(*plan, &Kernel::kv_tile);
  // Limits that leave one out bound nothing.
  const bool bounded = missing_limit(config) == nullptr;
  const int64_t most = bounded ? plan->state->capacity.merge_slots : 0;
  summary.max_slots = config.work == Work::kFixed
                          ? static_cast<int32_t>(std::min<int64_t>(most, INT32_MAX))
                          : 2 * workers;
  return Status::kOk;
}

}  // namespace attnplan
