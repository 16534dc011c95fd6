// attnplan_plan_verify: a plan from an untrusted place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "blob_reader.h"
#include "everything.h"

namespace attnplan::plan {
namespace {

struct Subject {  // a plan and all that it was made from
  explicit Subject(uint64_t seed) : batch(random_batch(seed)), structs(batch) {
    Error error;
    planner = property::create_planner(structs.config(), &error);
    scratch = property::create_scratch();
    if (!planner) return;
    size_t bytes = 0;
    if (attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), structs.group(), &bytes,
                           nullptr) == ATTNPLAN_OK &&
        bytes < (size_t{1} << 20)) {
      plan = property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
    }
  }

  attnplan_status verify(const Buffer& blob, attnplan_error* error = nullptr) const {
    return attnplan_plan_verify(blob.data(), blob.size(), nullptr, nullptr, nullptr, nullptr,
                                error);
  }
  attnplan_status verify_step(const Buffer& blob, attnplan_error* error = nullptr) const {
    return attnplan_plan_verify(blob.data(), blob.size(), planner.get(), scratch.get(),
                                &structs.step(), structs.group(), error);
  }

  Batch batch;
  BatchStructs structs;
  Planner planner;
  Scratch scratch;
  Buffer plan;
};

Buffer copy(const Buffer& from, size_t bytes) {
  Buffer out(bytes);
  std::memcpy(out.data(), from.data(), bytes);
  return out;
}

TEST(Verify, AcceptsEveryPlanThatWasBuilt) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    const Subject subject(seed);
    if (subject.plan.size() == 0) continue;
    ++planned;
    Error error;
    ASSERT_EQ(subject.verify(subject.plan, error.get()), ATTNPLAN_OK)
        << subject.batch.name << ": " << error.raw().message;
    ASSERT_EQ(subject.verify_step(subject.plan, error.get()), ATTNPLAN_OK)
        << subject.batch.name << ": " << error.raw().message;
    ASSERT_EQ(read_blob(subject.plan.data(), subject.plan.size(), subject.planner.get(),
                        &subject.structs.step()),
              "");
  }
  EXPECT_GT(planned, 1500);
}

// Bytes that carry something: the ranges of a fixed layout, else the header, the table and the
// sections, without the room between them.
std::vector<attnplan_byte_range> meaningful(const Buffer& plan) {
  std::vector<attnplan_byte_range> ranges = byte_ranges(plan);
  if ((property::header_of(plan).flags & ATTNPLAN_PLAN_FIXED_LAYOUT) != 0) return ranges;
  const attnplan_plan_header& header = property::header_of(plan);
  ranges = {{0, header.header_bytes +
                    int64_t{header.num_sections} * static_cast<int64_t>(sizeof(attnplan_section))}};
  for (const attnplan_section& section : sections_of(plan)) {
    ranges.push_back(
        {section.offset, section.count * static_cast<int64_t>(element_bytes(section.type))});
  }
  return ranges;
}

// Small plans, of both layouts, with as many sections as there are.
std::vector<uint64_t> subjects(size_t count) {
  std::vector<uint64_t> seeds;
  size_t fixed = 0, compact = 0;
  for (uint64_t seed = 70001; seeds.size() < count && seed < 90000; ++seed) {
    const Subject subject(seed);
    const size_t bytes = subject.plan.size();
    if (bytes == 0 || bytes > 12000 || sections_of(subject.plan).size() < 8) continue;
    const bool is_fixed =
        (property::header_of(subject.plan).flags & ATTNPLAN_PLAN_FIXED_LAYOUT) != 0;
    size_t* kind = is_fixed ? &fixed : &compact;
    if (*kind >= (count + 1) / 2) continue;
    ++*kind;
    seeds.push_back(seed);
  }
  EXPECT_EQ(seeds.size(), count);
  return seeds;
}

TEST(Verify, EveryMutationIsRefusedOrHarmless) {
  int64_t refused = 0, harmless = 0;
  for (uint64_t seed : subjects(12)) {
    const Subject subject(seed);
    Buffer mutated = copy(subject.plan, subject.plan.size());
    for (size_t at = 0; at < mutated.size(); ++at) {
      for (const uint8_t change : {0x01, 0x80, 0xff}) {
        mutated.data()[at] ^= change;
        const attnplan_status status = subject.verify(mutated);
        if (status == ATTNPLAN_OK) {
          ++harmless;
          ASSERT_EQ(read_blob(mutated.data(), mutated.size(), subject.planner.get(),
                              &subject.structs.step()),
                    "")
              << "seed " << seed << ", byte " << at << " ^ " << int{change};
        } else {
          ++refused;
          ASSERT_EQ(status, ATTNPLAN_INVALID_ARGUMENT);
        }
        mutated.data()[at] ^= change;
      }
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(harmless, 5000);
}

// Not even after a damage that verify would have found do the accessors leave the blob.
TEST(Verify, AccessorsStayInsideAnyBlob) {
  for (uint64_t seed : subjects(6)) {
    const Subject subject(seed);
    const attnplan_plan_header& header = property::header_of(subject.plan);
    const size_t tables =
        header.header_bytes + static_cast<size_t>(header.num_sections) * sizeof(attnplan_section);
    Buffer mutated = copy(subject.plan, subject.plan.size());
    for (size_t at = 0; at < tables; ++at) {
      for (const uint8_t change : {0x01, 0x40, 0x80, 0xff}) {
        mutated.data()[at] ^= change;
        ASSERT_EQ(read_blob(mutated.data(), mutated.size(), nullptr, nullptr), "")
            << "seed " << seed << ", byte " << at << " ^ " << int{change};
        mutated.data()[at] ^= change;
      }
    }
  }
}

TEST(Verify, WithTheStepNoByteMayDiffer) {
  int64_t mutations = 0;
  for (uint64_t seed : subjects(12)) {
    const Subject subject(seed);
    Buffer mutated = copy(subject.plan, subject.plan.size());
    for (const attnplan_byte_range& range : meaningful(subject.plan)) {
      for (int64_t i = range.offset; i < range.offset + range.bytes; ++i) {
        const auto at = static_cast<size_t>(i);
        const uint8_t change = static_cast<uint8_t>(1u << (at % 8));
        mutated.data()[at] ^= change;
        ASSERT_EQ(subject.verify_step(mutated), ATTNPLAN_INVALID_ARGUMENT)
            << "seed " << seed << ", byte " << at << " of " << mutated.size();
        mutated.data()[at] ^= change;
        ++mutations;
      }
    }
  }
  EXPECT_GT(mutations, 10000);
}

TEST(Verify, ACutPlanIsRefused) {
  for (uint64_t seed : subjects(6)) {
    const Subject subject(seed);
    const size_t bytes = subject.plan.size();
    for (size_t kept = 0; kept < bytes; kept += kept < 600 ? 1 : 37) {
      const Buffer cut = copy(subject.plan, kept);
      ASSERT_EQ(subject.verify(cut), ATTNPLAN_INVALID_ARGUMENT) << "seed " << seed << ", " << kept;
      ASSERT_EQ(subject.verify_step(cut), ATTNPLAN_INVALID_ARGUMENT) << "seed " << seed;
      ASSERT_EQ(read_blob(cut.data(), cut.size(), nullptr, nullptr), "");
    }
    EXPECT_EQ(subject.verify(copy(subject.plan, bytes - 1)), ATTNPLAN_INVALID_ARGUMENT);
  }
  EXPECT_EQ(attnplan_plan_verify(nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr),
            ATTNPLAN_INVALID_ARGUMENT);
}

TEST(Verify, APlanOfAnotherStepIsRefused) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    const Subject subject(seed);
    if (subject.plan.size() == 0 || subject.batch.num_reqs() == 0) continue;
    Batch later = subject.batch;  // the same requests, one token on
    if (!later.seq_lens || later.num_computed_tokens || later.step.flags != 0) continue;
    if (later.as_offsets ? later.query[1] == 0 : later.query[0] == 0) continue;
    ++(*later.seq_lens)[0];
    const BatchStructs structs(later);
    Error error;
    ASSERT_NE(
        attnplan_plan_verify(subject.plan.data(), subject.plan.size(), subject.planner.get(),
                             subject.scratch.get(), &structs.step(), structs.group(), error.get()),
        ATTNPLAN_OK)
        << subject.batch.name;
    EXPECT_NE(error.raw().message[0], '\0');
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(Verify, APlanOfAnotherPlannerIsRefused) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    const Subject subject(seed);
    if (subject.plan.size() == 0) continue;
    Batch other = subject.batch;
    other.config.num_workers = 77;  // of which no segment says a word
    const BatchStructs structs(other);
    Error error;
    const Planner planner = property::create_planner(structs.config(), &error);
    ASSERT_TRUE(planner);
    ASSERT_EQ(attnplan_plan_verify(subject.plan.data(), subject.plan.size(), planner.get(),
                                   subject.scratch.get(), &subject.structs.step(),
                                   subject.structs.group(), error.get()),
              ATTNPLAN_INVALID_ARGUMENT)
        << subject.batch.name;
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace attnplan::plan
