#include "cpu/lengths.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnplan::cpu {
namespace {

using Ints = std::vector<int32_t>;

TEST(Lengths, AnyOfTheWaysToGiveThemReadsTheSame) {
  const Ints query{4, 0, 2};
  const Ints start{0, 4, 4, 6};
  const Ints seq{10, 0, 7};
  const Ints computed{6, 0, 5};
  for (const bool offsets : {false, true}) {
    for (const bool sums : {false, true}) {
      attnplan_step step = ATTNPLAN_STEP_INIT;
      step.num_reqs = 3;
      (offsets ? step.query_start_loc : step.query_lens) = offsets ? start.data() : query.data();
      (sums ? step.num_computed_tokens : step.seq_lens) = sums ? computed.data() : seq.data();
      const Lengths lengths = read_lengths(step);
      EXPECT_EQ(lengths.query_lens, query);
      EXPECT_EQ(lengths.seq_lens, seq);
      EXPECT_EQ(lengths.row_begin, (std::vector<int64_t>{0, 4, 4, 6}));
      EXPECT_EQ(lengths.rows(), 6);
      EXPECT_EQ(lengths.first_position(2), 5);
    }
  }
}

TEST(Lengths, NoRequests) {
  const attnplan_step step = ATTNPLAN_STEP_INIT;
  EXPECT_EQ(read_lengths(step).size(), 0);
  EXPECT_EQ(read_lengths(step).rows(), 0);
}

TEST(Lengths, ShorteningKeepsRowsAndAToken) {
  const Ints query{4, 100, 100, 1};
  const Ints seq{1000, 100, 300, 20};
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.num_reqs = 4;
  step.query_lens = query.data();
  step.seq_lens = seq.data();
  const Lengths lengths = read_lengths(step);
  EXPECT_EQ(shorten(lengths, 0).seq_lens, seq);
  const Lengths shorter = shorten(lengths, 64);
  EXPECT_EQ(shorter.query_lens, query);
  EXPECT_EQ(shorter.seq_lens, (Ints{64, 100, 101, 20}));  // the prompt stays one, so does context
}

}  // namespace
}  // namespace attnplan::cpu
