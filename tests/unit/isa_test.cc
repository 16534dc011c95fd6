// The loops over requests give the same answers on every instruction set that this processor runs,
// and so do the ones for short batches. What they answer is checked by the planner's properties.
#include "planner/isa.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/short_batch.h"
#include "targets.h"

namespace attnplan {
namespace {

// The arrays of a step in buffers of exactly their size.
struct Arrays {
  std::vector<int32_t> query, seq, computed, prompt, known, drafts, starts;
  std::vector<uint8_t> prefilling;

  Arrays(Random& random, int32_t n, bool hostile) : starts{0} {
    for (int32_t i = 0; i < n; ++i) {
      const int32_t q = random.chance(15) ? 0 : random.between(1, 9);
      const int32_t c = random.chance(15) ? 0 : random.between(0, 5000);
      query.push_back(q);
      computed.push_back(c);
      seq.push_back(c + q);
      prompt.push_back(random.between(0, 6000));
      known.push_back(c + random.between(0, 3));
      drafts.push_back(random.between(0, 3));
      prefilling.push_back(random.chance(30));
      starts.push_back(starts.back() + q);
    }
    if (!hostile || n == 0) return;
    std::vector<int32_t>* const victims[] = {&query, &seq, &computed, &prompt, &known, &drafts};
    auto& victim = *victims[random.between(0, 5)];
    constexpr int32_t kValues[] = {-1, INT32_MIN, INT32_MAX, INT32_MAX - 3, 0};
    victim[static_cast<size_t>(random.between(0, n - 1))] = kValues[random.between(0, 4)];
  }
};

struct Scanned {
  ScanResult result;
  std::vector<int32_t> context_lens, classes;
};

using Scan = void (*)(const ScanInput&, int32_t*, int32_t*, ScanResult*);

Scanned run(Scan scan, const ScanInput& in) {
  const auto n = static_cast<size_t>(in.n);
  Scanned s{{}, std::vector<int32_t>(n, -7), std::vector<int32_t>(n, -7)};
  scan(in, s.context_lens.data(), s.classes.data(), &s.result);
  return s;
}

void expect_same(const MeasureResult& m, const MeasureResult& expected, const std::string& where) {
  EXPECT_EQ(m.num_live, expected.num_live) << where;
  EXPECT_EQ(m.min_query_len, expected.min_query_len) << where;
  EXPECT_EQ(m.max_query_len, expected.max_query_len) << where;
  EXPECT_EQ(m.min_seq_len, expected.min_seq_len) << where;
  EXPECT_EQ(m.max_seq_len, expected.max_seq_len) << where;
  EXPECT_EQ(m.min_context_len, expected.min_context_len) << where;
  EXPECT_EQ(m.max_context_len, expected.max_context_len) << where;
  EXPECT_EQ(m.rows, expected.rows) << where;
  EXPECT_EQ(m.sum_seq_lens, expected.sum_seq_lens) << where;
  EXPECT_EQ(m.sum_context_lens, expected.sum_context_lens) << where;
}

void expect_same(const Scanned& a, const Scanned& b, const std::string& where) {
  EXPECT_EQ(a.result.suspicious, b.result.suspicious) << where;
  if (a.result.suspicious) return;  // the rest means nothing then
  expect_same(a.result.all, b.result.all, where);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.result.prints[i], b.result.prints[i]) << where;
  EXPECT_EQ(a.result.first_live, b.result.first_live) << where;
  EXPECT_EQ(a.result.last_live, b.result.last_live) << where;
  EXPECT_EQ(a.result.first_prompt, b.result.first_prompt) << where;
  EXPECT_EQ(a.result.last_unprompt, b.result.last_unprompt) << where;
  EXPECT_EQ(a.classes, b.classes) << where;
  EXPECT_EQ(a.context_lens, b.context_lens) << where;
}

TEST(Isa, ScansAlike) {
  Random random(1);
  for (int round = 0; round < 20000; ++round) {
    const int32_t n = random.between(0, random.chance(20) ? 200 : 40);
    const Arrays a(random, n, random.chance(30));
    const auto maybe = [&](const auto& array, int percent) {
      return random.chance(percent) ? array.data() : nullptr;
    };
    const ScanInput in = {.n = n,
                          .query_lens = a.query.data(),
                          .seq_lens = a.seq.data(),
                          .num_computed_tokens = maybe(a.computed, 60),
                          .num_prompt_tokens = maybe(a.prompt, 50),
                          .num_known_tokens = maybe(a.known, 30),
                          .num_draft_tokens = maybe(a.drafts, 30),
                          .is_prefilling = maybe(a.prefilling, 20),
                          .decode_threshold = random.between(1, 9),
                          .max_query_len = random.chance(20) ? random.between(1, 9) : INT32_MAX,
                          .causal = random.chance(80),
                          .all_exact = random.chance(60),
                          .target_phase = random.chance(60),
                          .dummy_phase = random.chance(15),
                          .short_extend_decode = random.chance(20)};
    const Scanned expected = run(kIsaBaseline.scan, in);
    for (const Isa* isa : targets()) {
      expect_same(run(isa->scan, in), expected,
                  std::string(isa->name) + " round " + std::to_string(round));
    }
    expect_same(run(scan_short, in), expected, "short, round " + std::to_string(round));
    if (HasFailure()) return;
  }
}

TEST(Isa, MeasuresAlike) {
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    const int32_t n = random.between(1, random.chance(10) ? 5000 : 60);
    Arrays a(random, n, false);
    if (random.chance(20)) a.seq[0] = INT32_MAX;
    MeasureResult expected;
    kIsaBaseline.measure(a.query.data(), a.seq.data(), a.computed.data(), n, &expected);
    MeasureResult result;
    for (const Isa* isa : targets()) {
      isa->measure(a.query.data(), a.seq.data(), a.computed.data(), n, &result);
      expect_same(result, expected, isa->name);
    }
    measure_short(a.query.data(), a.seq.data(), a.computed.data(), n, &result);
    expect_same(result, expected, "short");
    if (HasFailure()) return;
  }
}

// Any other value, and two values that change places, give another fingerprint or break a check.
TEST(Isa, FingerprintsTellArraysApart) {
  Random random(6);
  int compared = 0;
  for (int round = 0; round < 20000; ++round) {
    Arrays a(random, random.between(1, 60), false);
    const ScanInput in = {.n = static_cast<int32_t>(a.query.size()),
                          .query_lens = a.query.data(),
                          .seq_lens = a.seq.data(),
                          .num_computed_tokens = a.computed.data(),
                          .num_prompt_tokens = a.prompt.data(),
                          .num_known_tokens = random.chance(50) ? a.known.data() : nullptr,
                          .num_draft_tokens = a.drafts.data(),
                          .is_prefilling = nullptr,
                          .decode_threshold = 4,
                          .max_query_len = INT32_MAX,
                          .causal = true,
                          .all_exact = random.chance(50),
                          .target_phase = false,
                          .dummy_phase = false,
                          .short_extend_decode = false};
    const Scanned before = run(best_isa().scan, in);
    std::vector<int32_t>* const arrays[] = {&a.query,  &a.seq,   &a.computed,
                                            &a.prompt, &a.known, &a.drafts};
    auto& array = *arrays[random.between(0, 5)];
    if (&array == &a.known && in.num_known_tokens == nullptr) continue;
    const auto pick = [&] { return static_cast<size_t>(random.between(0, in.n - 1)); };
    const size_t at = pick(), other = pick();
    if (random.chance(50)) {
      array[at] += random.between(1, 3);
    } else if (array[at] != array[other]) {
      std::swap(array[at], array[other]);
    } else {
      continue;
    }
    const Scanned after = run(best_isa().scan, in);
    if (after.result.suspicious) continue;
    EXPECT_FALSE(std::equal(before.result.prints, before.result.prints + 3, after.result.prints))
        << "round " << round;
    ++compared;
  }
  EXPECT_GT(compared, 10000);
}

// Sums pass int32.
TEST(Isa, LongBatchesSumExactly) {
  constexpr int32_t kRequests = 200'000;
  const std::vector<int32_t> query(kRequests, 1), seq(kRequests, INT32_MAX);
  for (const Isa* isa : targets()) {
    MeasureResult result;
    isa->measure(query.data(), seq.data(), seq.data(), kRequests, &result);
    EXPECT_EQ(result.rows, kRequests) << isa->name;
    EXPECT_EQ(result.sum_seq_lens, int64_t{INT32_MAX} * kRequests) << isa->name;
    EXPECT_EQ(result.sum_context_lens, int64_t{INT32_MAX} * kRequests) << isa->name;
  }
}

TEST(Isa, ReadsStartsAlike) {
  Random random(3);
  for (int round = 0; round < 5000; ++round) {
    const int32_t n = random.between(0, 80);
    Arrays a(random, n, false);
    const bool broken = n > 0 && random.chance(30);
    if (broken)
      a.starts[static_cast<size_t>(random.between(1, n))] = random.chance(50) ? -1 : INT32_MIN;
    for (const Isa* isa : targets()) {
      std::vector<int32_t> query(static_cast<size_t>(n));
      EXPECT_EQ(isa->query_lens(a.starts.data(), n, query.data()), broken) << isa->name;
      if (!broken) {
        EXPECT_EQ(query, a.query) << isa->name;
      }
    }
  }
}

TEST(Isa, FindsIdsOutOfRangeAlike) {
  Random random(4);
  for (int round = 0; round < 20000; ++round) {
    const int32_t n = random.between(0, 100), blocks = random.between(1, 50);
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < n; ++i) ids.push_back(random.between(0, blocks - 1));
    const bool broken = n > 0 && random.chance(40);
    if (broken)
      ids[static_cast<size_t>(random.between(0, n - 1))] = random.chance(50) ? -1 : blocks;
    for (const Isa* isa : targets()) {
      EXPECT_EQ(isa->ids_in_range(ids.data(), n, blocks), !broken) << isa->name;
    }
  }
}

TEST(Isa, HashesAlike) {
  Random random(5);
  std::vector<int32_t> data;
  for (int32_t i = 0; i < 3000; ++i) {
    data.push_back(random.between(INT32_MIN, INT32_MAX));
    const size_t bytes = data.size() * sizeof data[0];
    const uint64_t expected = kIsaBaseline.hash(data.data(), bytes, 0);
    for (const Isa* isa : targets()) EXPECT_EQ(isa->hash(data.data(), bytes, 0), expected);
  }
}

}  // namespace
}  // namespace attnplan
