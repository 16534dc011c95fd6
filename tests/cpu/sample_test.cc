#include "cpu/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace attnplan::cpu {
namespace {

Lengths lengths_of(const std::vector<int32_t>& query_lens) {
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = query_lens.data();
  step.seq_lens = query_lens.data();
  step.num_reqs = static_cast<int32_t>(query_lens.size());
  return read_lengths(step);
}

TEST(SampleRows, EverythingWhereThereIsRoom) {
  for (const int64_t room : {0, 9, 100}) {
    const auto sample = sample_rows(lengths_of({4, 0, 5}), room);
    EXPECT_EQ(std::count(sample.begin(), sample.end(), true), 9) << room;
  }
}

TEST(SampleRows, FirstAndLastOfEveryRequestWhateverTheLimit) {
  const auto sample = sample_rows(lengths_of({4, 0, 1, 6}), 2);
  EXPECT_EQ(sample, (std::vector<bool>{1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1}));
}

TEST(SampleRows, TakesExactlyWhatFitsAndSpreadsIt) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> query_lens(1 + random() % 12);
    int64_t ends = 0;
    for (int32_t& q : query_lens) {
      q = static_cast<int32_t>(random() % 300);
      ends += std::min(q, 2);
    }
    const Lengths lengths = lengths_of(query_lens);
    const int64_t room = ends + random() % 200;
    if (room == 0) continue;  // no rows at all
    const auto sample = sample_rows(lengths, room);
    EXPECT_EQ(std::count(sample.begin(), sample.end(), true), std::min(room, lengths.rows()));
    for (int32_t r = 0; r < lengths.size(); ++r) {
      if (query_lens[r] == 0) continue;
      EXPECT_TRUE(sample[lengths.row_begin[r]]);
      EXPECT_TRUE(sample[lengths.row_begin[r + 1] - 1]);
    }
  }
  const auto sample = sample_rows(lengths_of({1002}), 12);  // ten over a thousand: in each hundred
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(std::count(sample.begin() + 1 + i * 100, sample.begin() + 101 + i * 100, true), 1);
  }
}

}  // namespace
}  // namespace attnplan::cpu
