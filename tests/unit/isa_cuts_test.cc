// A stream-K list is the same on every instruction set that this processor runs. What it must be,
// the other tests check on the best of them.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "planner/work_stream_k.h"
#include "targets.h"

namespace attnplan {
namespace {

// One or two segments of requests that are a tile each, in arrays of exactly their size.
struct Batch {
  std::vector<int32_t> tokens, rows;
  int32_t first, workers, heads, kv_tile;
  bool causal;

  explicit Batch(Random& random) {
    const int32_t n = random.between(1, random.pick({4, 40, 400, 3000}));
    const int32_t most = random.pick({1, 200, 8000, 1 << 22, INT32_MAX - 200});
    for (int32_t i = 0; i < n; ++i) {
      rows.push_back(random.between(1, random.pick({1, 4, 16})));
      tokens.push_back(random.between(std::min(rows.back(), most), most));
    }
    first = random.between(0, 2) == 0 ? random.between(1, n) : n;
    workers = random.pick({1, 3, 16, 40, 256, 304});
    heads = random.pick({1, 1, 2, 5});
    kv_tile = random.pick({1, 16, 96, 128, 1 << 23});
    causal = random.between(0, 4) != 0;
  }

  void fill(WorkList* list) const {
    int32_t begin = 0;
    for (const int32_t end : {first, static_cast<int32_t>(tokens.size())}) {
      if (end == begin) continue;
      WorkSpan span{.count = end - begin, .kv_tile = kv_tile, .request = begin + 2};
      span.tokens = tokens.data() + begin;
      span.rows = rows.data() + begin;
      int64_t cost = 0;
      for (int32_t i = begin; i < end; ++i) {
        span.longest = std::max(span.longest, tokens[static_cast<size_t>(i)]);
        cost += int64_t{tokens[static_cast<size_t>(i)]} + kItemOverheadTokens;
      }
      list->spans.push_back(span);
      list->span_costs.push_back(cost);
      begin = end;
    }
  }
};

struct Made {
  attnplan_work summary{};
  std::vector<attnplan_work_item> items;
  std::vector<int32_t> indptr, merges;
};

Made make(const Batch& batch, const Isa& isa) {
  WorkList list(std::pmr::new_delete_resource());
  batch.fill(&list);
  cut_stream_k(isa, batch.heads, batch.workers, batch.causal, &list);
  const WorkCuts& cuts = list.cuts;
  Made made;
  made.summary = list.summary;
  made.items.resize(static_cast<size_t>(cuts.num_tiles + cuts.num_splits));
  isa.write_items(cuts, made.items.data());
  made.indptr.assign(cuts.items, cuts.items + cuts.workers + 1);
  made.merges.resize(static_cast<size_t>(cuts.num_merges) + 1);
  write_merge_indptr(cuts, made.merges.data());
  return made;
}

template <typename T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(Cuts, AlikeOnEveryTarget) {
  Random random(1);
  int64_t splits = 0;
  for (int round = 0; round < 4000; ++round) {
    const Batch batch(random);
    const Made expected = make(batch, kIsaBaseline);
    splits += expected.summary.num_slots;
    for (const Isa* isa : targets()) {
      const Made made = make(batch, *isa);
      const std::string where = std::string(isa->name) + ", round " + std::to_string(round);
      EXPECT_EQ(made.summary.makespan, expected.summary.makespan) << where;
      EXPECT_EQ(made.summary.mean, expected.summary.mean) << where;
      EXPECT_EQ(made.summary.num_slots, expected.summary.num_slots) << where;
      EXPECT_TRUE(same_bytes(made.items, expected.items)) << where;
      EXPECT_EQ(made.indptr, expected.indptr) << where;
      EXPECT_EQ(made.merges, expected.merges) << where;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(splits, 100000);
}

}  // namespace
}  // namespace attnplan
