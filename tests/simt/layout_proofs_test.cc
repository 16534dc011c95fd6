// Proofs of hip/mma.h's labels for every architecture, at compile time: which query, key and column
// each register of each lane stands for, derived from the instructions' maps, against what the
// attention level says.
#include <gtest/gtest.h>

#include <array>

#include "hip/mma.h"

namespace attnplan::hip {
namespace {

// ------------------------------------------------------------ raw level

// Counts a matrix's elements; each may come once.
template <int kRows, int kColumns>
struct Once {
  constexpr void see(int row, int column) {
    if (row < 0 || row >= kRows || column < 0 || column >= kColumns) {
      ok = false;
    } else {
      ok = ok && !seen[row][column];
      seen[row][column] = true;
      ++count;
    }
  }
  constexpr bool all() const { return ok && count == kRows * kColumns; }

  bool seen[kRows][kColumns] = {};
  int count = 0;
  bool ok = true;
};

template <class I>
constexpr bool covers_every_element_once() {
  Once<I::kM, I::kK> a;
  Once<I::kK, I::kN> b;
  Once<I::kM, I::kN> d;
  for (int l = 0; l < I::kWave; ++l) {
    for (int e = 0; e < 2 * I::kAWords; ++e) a.see(I::a(l, e).row, I::a(l, e).column);
    for (int e = 0; e < 2 * I::kBWords; ++e) b.see(I::b(l, e).row, I::b(l, e).column);
    for (int e = 0; e < I::kDWords; ++e) d.see(I::d(l, e).row, I::d(l, e).column);
  }
  return a.all() && b.all() && d.all();
}

static_assert(covers_every_element_once<Mfma16x16x16<Bf16>>());
static_assert(covers_every_element_once<Mfma16x16x32<Bf16>>());
static_assert(covers_every_element_once<MmaSync16x8x16<Bf16>>());

// ------------------------------------------------------------ attention level

// One view of MFMA and mma.sync: `left` is the operand whose rows a score tile has as keys (K, and
// V for outputs), `right` the one that stands for queries (Q, and P).
template <class Arch>
struct Wiring {
  using Mma = AttentionMma<Arch, Bf16>;
  using I = std::conditional_t<
      !Mma::kMfma, MmaSync16x8x16<Bf16>,
      std::conditional_t<Arch::kMatrixK == 32, Mfma16x16x32<Bf16>, Mfma16x16x16<Bf16>>>;
  static constexpr int kWave = Arch::kWave;
  static constexpr int kLeftElements = 2 * (Mma::kMfma ? I::kAWords : I::kBWords);
  static constexpr int kRightElements = 2 * (Mma::kMfma ? I::kBWords : I::kAWords);

  // {key or column row, k slot}
  static constexpr Coordinate left(int l, int e) {
    return Mma::kMfma ? I::a(l, e) : Coordinate{I::b(l, e).column, I::b(l, e).row};
  }
  // {query, k slot}
  static constexpr Coordinate right(int l, int e) {
    return Mma::kMfma ? Coordinate{I::b(l, e).column, I::b(l, e).row} : I::a(l, e);
  }
  // {key or column row, query}
  static constexpr Coordinate result(int l, int e) {
    return Mma::kMfma ? I::d(l, e) : Coordinate{I::d(l, e).column, I::d(l, e).row};
  }
  // Which of the lane's query rows element e of the right operand belongs to, and its place among
  // that row's elements. mma.sync takes words of the two rows in turn.
  static constexpr int right_slot(int e) { return Mma::kMfma ? 0 : e / 2 % 2; }
  static constexpr int right_place(int e) { return Mma::kMfma ? e : e / 4 * 2 + e % 2; }
};

// Q and K: both operands put the same element of the head in the same k slot, every element of a
// chunk of 32 once.
template <class Arch>
constexpr bool score_sums_over_every_element() {
  using W = Wiring<Arch>;
  using Mma = typename W::Mma;
  constexpr int kK = W::I::kK;
  for (int part = 0; part < 32 / kK; ++part) {  // instructions of a chunk
    std::array<int, kK> element = {};
    Once<1, 32> once;
    for (int l = 0; l < W::kWave; ++l) {
      for (int e = 0; e < W::kLeftElements; ++e) {
        const int label = 8 * Mma::group(l) + part * W::kLeftElements + e;
        element[W::left(l, e).column] = label;
        if (Mma::row(l) == 0) once.see(0, label);
        if (W::left(l, e).row != Mma::row(l)) return false;
      }
    }
    if (!once.ok || once.count != kK) return false;
    for (int l = 0; l < W::kWave; ++l) {
      for (int e = 0; e < W::kLeftElements; ++e) {
        const int label = 8 * Mma::group(l) + part * W::kLeftElements + e;
        if (element[W::left(l, e).column] != label) return false;
      }
      for (int e = 0; e < W::kRightElements; ++e) {
        const int label = 8 * Mma::group(l) + part * W::kLeftElements + W::right_place(e);
        if (element[W::right(l, e).column] != label) return false;
        if (W::right(l, e).row != Mma::query(l, W::right_slot(e))) return false;
      }
    }
  }
  return true;
}

// k_row names every key of the block once, and the accumulators hold the scores of the queries and
// keys that query_slot and key_slot say: every pair once.
template <class Arch>
constexpr bool scores_are_where_they_are_said_to_be() {
  using W = Wiring<Arch>;
  using Mma = typename W::Mma;
  Once<1, Mma::kBlockKeys> keys;
  Once<Mma::kQueryTile, Mma::kBlockKeys> pairs;
  for (int tile = 0; tile < Mma::kTiles; ++tile) {
    std::array<int, Mma::kRows> key_of_row = {};
    for (int l = 0; l < W::kWave; ++l) {
      key_of_row[W::left(l, 0).row] = Mma::k_row(l, tile);
      if (Mma::group(l) == 0) keys.see(0, Mma::k_row(l, tile));
    }
    for (int l = 0; l < W::kWave; ++l) {
      if (key_of_row[W::left(l, 0).row] != Mma::k_row(l, tile)) return false;
      for (int e = 0; e < W::I::kDWords; ++e) {
        const int query = Mma::query(l, Mma::query_slot(e));
        const int key = Mma::kKeys * Mma::group(l) + Mma::key_slot(tile, e);
        pairs.see(query, key);
        if (key != key_of_row[W::result(l, e).row]) return false;
        if (query != W::result(l, e).column) return false;
      }
    }
  }
  return keys.all() && pairs.all();
}

// P: word 2 * tile + half of a lane holds two of its own accumulators, of one query row; and the
// right operand, made of these words in order, has in each k slot the key that V has there when a
// lane brings its own keys in order.
template <class Arch>
constexpr bool packed_scores_meet_their_values() {
  using W = Wiring<Arch>;
  using Mma = typename W::Mma;
  constexpr int kK = W::I::kK;
  constexpr int kParts = Mma::kBlockKeys / kK;
  Once<1, Mma::kBlockKeys> keys;
  for (int part = 0; part < kParts; ++part) {
    std::array<int, kK> key_of_slot = {};
    for (int l = 0; l < W::kWave; ++l) {
      for (int e = 0; e < W::kLeftElements; ++e) {
        const int key = Mma::kKeys * Mma::group(l) + part * W::kLeftElements + e;
        key_of_slot[W::left(l, e).column] = key;
        if (Mma::row(l) == 0) keys.see(0, key);
      }
    }
    for (int l = 0; l < W::kWave; ++l) {
      for (int e = 0; e < W::kLeftElements; ++e) {
        const int key = Mma::kKeys * Mma::group(l) + part * W::kLeftElements + e;
        if (key_of_slot[W::left(l, e).column] != key) return false;
      }
      for (int e = 0; e < W::kRightElements; ++e) {
        const int word = (part * W::kRightElements + e) / 2;
        const int accumulator = 2 * (word % 2) + e % 2;
        const int key = Mma::kKeys * Mma::group(l) + Mma::key_slot(word / 2, accumulator);
        if (key_of_slot[W::right(l, e).column] != key) return false;
        const int query = Mma::query(l, Mma::query_slot(accumulator));
        if (W::right(l, e).row != query) return false;
      }
    }
  }
  return keys.all() && kParts * W::kRightElements == 8;
}

// Outputs: the lane holds columns of the query rows that it holds scores of; every column once.
template <class Arch>
constexpr bool outputs_are_where_they_are_said_to_be() {
  using W = Wiring<Arch>;
  using Mma = typename W::Mma;
  Once<Mma::kQueryTile, Mma::kRows> outputs;
  for (int l = 0; l < W::kWave; ++l) {
    for (int e = 0; e < W::I::kDWords; ++e) {
      const int query = Mma::query(l, Mma::query_slot(e));
      const int column = Mma::column(l, e);
      outputs.see(query, column);
      if (column != W::result(l, e).row || query != W::result(l, e).column) return false;
    }
  }
  return outputs.all();
}

// The four lanes of a reduction over keys have the same queries and all groups.
template <class Arch>
constexpr bool reductions_meet_every_group() {
  using Mma = AttentionMma<Arch, Bf16>;
  constexpr int kFirst = Mma::kMfma ? 16 : 1;
  for (int l = 0; l < Arch::kWave; ++l) {
    Once<1, Mma::kGroups> groups;
    for (int i = 0; i < 4; ++i) {
      const int other = l ^ (i * kFirst);
      if (Mma::row(other) != Mma::row(l)) return false;
      groups.see(0, Mma::group(other));
    }
    if (!groups.all()) return false;
  }
  return true;
}

template <class Arch>
constexpr bool labels_hold() {
  return score_sums_over_every_element<Arch>() && scores_are_where_they_are_said_to_be<Arch>() &&
         packed_scores_meet_their_values<Arch>() && outputs_are_where_they_are_said_to_be<Arch>() &&
         reductions_meet_every_group<Arch>();
}

static_assert(labels_hold<Gfx90a>());
static_assert(labels_hold<Gfx942>());
static_assert(labels_hold<Gfx950>());
static_assert(labels_hold<Sm90>());

// Again where a debugger or a coverage report can see it.
TEST(LayoutProofs, HoldForEveryArchitecture) {
  EXPECT_TRUE(labels_hold<Gfx90a>());
  EXPECT_TRUE(labels_hold<Gfx942>());
  EXPECT_TRUE(labels_hold<Gfx950>());
  EXPECT_TRUE(labels_hold<Sm90>());
}

}  // namespace
}  // namespace attnplan::hip
