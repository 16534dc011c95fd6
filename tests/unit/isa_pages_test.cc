// Block ids on every instruction set that this processor runs: their check, and their expansion to
// pages, against loops that do one thing after the other. Arrays have exactly their size, for the
// sanitizers, and outputs start at any element.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "targets.h"

namespace attnplan {
namespace {

using Ints = std::vector<int32_t>;

// A block table as an engine may bring it: dense or CSR, pads in between, in any order.
struct Table {
  Ints query_lens, seq_lens, order, indptr, ids;
  IdRows rows{};

  Table(Random& random, int32_t n) {
    rows.n = n;
    rows.block_size = random.one_of({1, 7, 16, 24, 128});
    rows.num_blocks = random.one_of({1, 50, 1 << 20, INT32_MAX});
    const int32_t longest = random.one_of({0, 1, 3, 4, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 150});
    rows.columns = longest;
    rows.row_stride = longest + random.between(0, 3);
    for (int32_t i = 0; i < n; ++i) {
      query_lens.push_back(random.chance(15) ? 0 : 1);
      seq_lens.push_back(random.between(0, longest * rows.block_size));
      if (random.chance(10)) seq_lens.back() = longest * rows.block_size;
      order.push_back(i);
    }
    if (random.chance(30)) {
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<uint32_t>(n)));
      rows.order = order.data();
    }
    random.chance(30) ? make_csr() : make_dense();
    // Only live ids mean anything: the others may be out of range.
    for (int32_t& id : ids) id = random.one_of({-1, INT32_MIN, INT32_MAX});
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < live(i); ++j) *id(i, j) = random.between(0, rows.num_blocks - 1);
    }
    rows.ids = ids.data();
    rows.query_lens = query_lens.data();
    rows.seq_lens = seq_lens.data();
  }
  Table(const Table&) = delete;

  int32_t live(int32_t i) const {
    const auto at = static_cast<size_t>(i);
    return query_lens[at] == 0 ? 0 : (seq_lens[at] + rows.block_size - 1) / rows.block_size;
  }
  int32_t* id(int32_t i, int32_t j) {
    const auto row = static_cast<size_t>(rows.order != nullptr ? order[static_cast<size_t>(i)] : i);
    const int64_t begin =
        indptr.empty() ? static_cast<int64_t>(row) * rows.row_stride : indptr[row];
    return ids.data() + begin + j;
  }

 private:
  void make_dense() {
    const int64_t last = rows.n > 0 ? (rows.n - 1) * rows.row_stride + rows.columns : 0;
    ids.resize(static_cast<size_t>(last));
  }
  void make_csr() {
    Ints counts(static_cast<size_t>(rows.n));
    for (int32_t i = 0; i < rows.n; ++i) {
      counts[static_cast<size_t>(order[static_cast<size_t>(i)])] = live(i);
    }
    indptr.push_back(0);
    for (int32_t count : counts) indptr.push_back(indptr.back() + count);
    ids.resize(static_cast<size_t>(indptr.back()));
    rows.indptr = indptr.data();
  }
};

int32_t page(int32_t id, PageShape shape, int32_t j) {
  return static_cast<int32_t>(static_cast<uint32_t>(id) * static_cast<uint32_t>(shape.stride) +
                              static_cast<uint32_t>(j));
}

PageShape any_shape(Random& random) {
  const int32_t pages = random.one_of({1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 48});
  return {pages, random.chance(40) ? 2 * pages : pages};
}

// An output between two elements that nobody may touch, at any distance from a border.
class Output {
 public:
  Output(Random& random, int64_t count)
      : offset_(random.between(1, 16)),
        values_(static_cast<size_t>(offset_ + count + 1), kUntouched) {}
  int32_t* data() { return values_.data() + offset_; }
  void expect(const Ints& expected, const std::string& where) {
    EXPECT_EQ(Ints(values_.begin() + offset_, values_.end() - 1), expected) << where;
    EXPECT_EQ(values_[static_cast<size_t>(offset_) - 1], kUntouched) << where;
    EXPECT_EQ(values_.back(), kUntouched) << where;
  }

 private:
  static constexpr int32_t kUntouched = 123456789;
  int64_t offset_;
  Ints values_;
};

TEST(IsaPages, ExpandsTables) {
  Random random(1);
  for (int round = 0; round < 20000; ++round) {
    Table table(random, random.between(0, 6));
    const PageShape shape = any_shape(random);
    const int64_t wide = table.rows.columns + random.between(0, 2) * random.between(0, 20);
    const bool broken = !table.ids.empty() && random.chance(30);
    if (broken) table.ids[table.ids.size() / 2] = random.one_of({-1, -77, INT32_MIN, INT32_MAX});
    Ints expected;
    for (int32_t i = 0; i < table.rows.n; ++i) {
      for (int64_t j = 0; j < wide * shape.pages_per_block; ++j) {
        const auto block = static_cast<int32_t>(j / shape.pages_per_block);
        const auto rest = static_cast<int32_t>(j % shape.pages_per_block);
        expected.push_back(block < table.live(i) ? page(*table.id(i, block), shape, rest) : -1);
      }
    }
    for (const Isa* isa : targets()) {
      Output output(random, static_cast<int64_t>(expected.size()));
      isa->expand_rows(table.rows, shape, wide, output.data());
      output.expect(expected, std::string(isa->name) + " round " + std::to_string(round));
    }
    if (HasFailure()) return;
  }
}

TEST(IsaPages, ExpandsLists) {
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    const PageShape shape = any_shape(random);
    const int32_t live = random.between(0, 70);
    const int64_t wide = live + (random.chance(50) ? random.between(0, 40) : 0);
    Ints ids, expected;
    for (int32_t i = 0; i < live; ++i) {
      ids.push_back(random.chance(20) ? random.between(INT32_MIN, INT32_MAX) : i);
      for (int32_t j = 0; j < shape.pages_per_block; ++j) {
        expected.push_back(page(ids.back(), shape, j));
      }
    }
    expected.resize(static_cast<size_t>(wide * shape.pages_per_block), -1);
    for (const Isa* isa : targets()) {
      Output output(random, static_cast<int64_t>(expected.size()));
      isa->expand_ids(shape, ids.data(), live, wide, output.data());
      output.expect(expected, std::string(isa->name) + " round " + std::to_string(round));
    }
    if (HasFailure()) return;
  }
}

TEST(IsaPages, FindsRowsOutOfRange) {
  Random random(3);
  for (int round = 0; round < 20000; ++round) {
    Table table(random, random.between(0, 6));
    bool broken = false;
    if (table.rows.n > 0 && random.chance(50)) {
      const int32_t i = random.between(0, table.rows.n - 1), live = table.live(i);
      broken = live > 0;
      const int32_t beyond = table.rows.num_blocks < INT32_MAX ? table.rows.num_blocks : -5;
      if (broken)
        *table.id(i, random.between(0, live - 1)) = random.one_of({-1, INT32_MIN, beyond});
    }
    for (const Isa* isa : targets()) {
      EXPECT_EQ(isa->rows_in_range(table.rows), !broken) << isa->name << " round " << round;
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace attnplan
