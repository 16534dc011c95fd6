// One number of a plan set to what a hostile or broken writer would put there: verify refuses it,
// and says where, or no reader can be led astray by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "blob_reader.h"
#include "everything.h"
#include "follow_plan.h"

namespace attnplan::plan {
namespace {

constexpr size_t kMostBytes = 16000;  // of a plan: each of its numbers is tried

std::set<int32_t> filled_sections(const Buffer& plan) {
  std::set<int32_t> ids;
  for (const attnplan_section& section : sections_of(plan)) {
    if (section.count > 0) ids.insert(section.id);
  }
  return ids;
}

// Seeds of plans that together have values in every section there is, of both layouts, with graphs
// whose pads are in them.
std::vector<uint64_t> rich_seeds() {
  std::vector<uint64_t> seeds;
  std::set<int32_t> missing;
  for (int32_t id = 1; id < ATTNPLAN_SECTION_END; ++id) {
    if (id <= ATTNPLAN_SECTION_ORDER || id >= ATTNPLAN_SECTION_QUERY_START_LOC) missing.insert(id);
  }
  int fixed = 0, compact = 0, padded = 0;
  for (uint64_t seed = 200001; seed < 240000 && seeds.size() < 28; ++seed) {
    const Subject rich(seed, kMostBytes);
    if (rich.plan.size() == 0) continue;
    const std::set<int32_t> filled = filled_sections(rich.plan);
    const attnplan_plan_header& header = property::header_of(rich.plan);
    const bool is_fixed = (header.flags & ATTNPLAN_PLAN_FIXED_LAYOUT) != 0;
    int wanted = std::count_if(filled.begin(), filled.end(),
                               [&](int32_t id) { return missing.count(id) != 0; });
    if (filled.size() >= 20) wanted += (is_fixed ? fixed : compact) < 4;
    if (filled.size() >= 10) wanted += header.graph_pad_requests > 0 && padded < 4;
    if (wanted == 0) continue;
    for (const int32_t id : filled) missing.erase(id);
    ++(is_fixed ? fixed : compact);
    padded += header.graph_pad_requests > 0;
    seeds.push_back(seed);
  }
  for (const int32_t id : missing) ADD_FAILURE() << "no plan with section " << id;
  EXPECT_GE(fixed, 3);
  EXPECT_GE(compact, 4);
  EXPECT_GE(padded, 3);
  return seeds;
}

// Header, table, ranges, and the sections with the pads behind their values.
std::vector<size_t> numbers_of(const Buffer& plan) {
  std::vector<attnplan_byte_range> ranges = byte_ranges(plan);
  std::vector<size_t> offsets;
  for (const attnplan_byte_range& range : ranges) {
    for (int64_t i = range.offset; i + 4 <= range.offset + range.bytes; i += 4) {
      offsets.push_back(static_cast<size_t>(i));
    }
  }
  return offsets;
}

constexpr int32_t kHostile[] = {-1, -2, -5, 0, 1, 3, 99, 1 << 20, INT32_MIN, INT32_MAX, 1 << 30};

TEST(Hostile, NoNumberLeadsAReaderAstray) {
  int64_t refused = 0, harmless = 0;
  for (const uint64_t seed : rich_seeds()) {
    const Subject rich(seed, kMostBytes);
    Buffer blob(rich.plan.size());
    std::memcpy(blob.data(), rich.plan.data(), blob.size());
    for (const size_t at : numbers_of(rich.plan)) {
      int32_t own = 0;
      std::memcpy(&own, blob.data() + at, sizeof own);
      std::vector<int32_t> values(std::begin(kHostile), std::end(kHostile));
      values.push_back(static_cast<int32_t>(static_cast<uint32_t>(own) + 1));
      values.push_back(static_cast<int32_t>(static_cast<uint32_t>(own) - 1));
      for (const int32_t value : values) {
        if (value == own) continue;
        std::memcpy(blob.data() + at, &value, sizeof value);
        Error error;
        if (rich.verify(blob, error.get()) == ATTNPLAN_OK) {
          ++harmless;
          const std::string astray = follow_plan(blob);
          ASSERT_EQ(astray, "") << "seed " << seed << ", byte " << at << ": " << own << " -> "
                                << value;
          ASSERT_EQ(read_blob(blob.data(), blob.size(), rich.planner.get(), &rich.structs.step()),
                    "");
        } else {
          ++refused;
          ASSERT_EQ(error.raw().status, ATTNPLAN_INVALID_ARGUMENT);
          ASSERT_EQ(std::string(error.raw().message).rfind("not a sound plan: ", 0), 0u);
          // What is refused alone is refused with its planner, too.
          ASSERT_NE(rich.verify_planner(blob), ATTNPLAN_OK) << error.raw().message;
        }
      }
      std::memcpy(blob.data() + at, &own, sizeof own);
    }
  }
  EXPECT_GT(refused, 100000);
  EXPECT_GT(harmless, 10000);
}

TEST(Hostile, OwnPlansAreFollowedToTheEnd) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const Subject rich(seed, kMostBytes);
    if (rich.plan.size() == 0) continue;
    ++planned;
    Error error;
    ASSERT_EQ(follow_plan(rich.plan), "") << rich.batch.name;
    ASSERT_EQ(rich.verify_planner(rich.plan, error.get()), ATTNPLAN_OK)
        << rich.batch.name << ": " << error.raw().message;
  }
  EXPECT_GT(planned, 800);
}

}  // namespace
}  // namespace attnplan::plan
