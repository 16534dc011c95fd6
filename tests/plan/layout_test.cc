// Where the parts of a blob lie, which bytes of it are written, and what is in the unused ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr size_t kLargestPlan = size_t{4} << 20;

// Calls `check(batch, planner, plan)` with many random plans of at most a few megabytes.
template <typename Check>
int for_random_plans(uint64_t first, uint64_t last, const Check& check) {
  const Scratch scratch = property::create_scratch();
  int planned = 0;
  for (uint64_t seed = first; seed <= last && !testing::Test::HasFatalFailure(); ++seed) {
    const Batch batch = random_batch(seed);
    const BatchStructs structs(batch);
    Error error;
    const Planner planner = property::create_planner(structs.config(), &error);
    if (!planner) continue;
    size_t bytes = 0;
    if (attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), structs.group(), &bytes,
                           nullptr) != ATTNPLAN_OK ||
        bytes > kLargestPlan) {
      continue;
    }
    const Buffer plan =
        property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
    EXPECT_EQ(plan.size(), bytes) << batch.name << ": " << error.raw().message;
    ++planned;
    check(batch, structs, planner.get(), plan);
  }
  return planned;
}

bool in_ranges(const std::vector<attnplan_byte_range>& ranges, int64_t begin, int64_t end) {
  for (const attnplan_byte_range& range : ranges) {  // neighbours may touch
    if (begin >= range.offset && begin < range.offset + range.bytes) {
      begin = std::min(end, range.offset + range.bytes);
    }
  }
  return begin >= end;
}

void check_table(const Batch& batch, const Buffer& plan) {
  std::vector<attnplan_section> table = sections_of(plan);
  std::sort(table.begin(), table.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  const attnplan_plan_header& header = property::header_of(plan);
  int64_t used =
      header.header_bytes +
      int64_t{header.num_sections} * static_cast<int64_t>(sizeof(attnplan_section)) +
      int64_t{header.num_byte_ranges} * static_cast<int64_t>(sizeof(attnplan_byte_range));
  for (const attnplan_section& section : table) {
    const auto width = static_cast<int64_t>(element_bytes(section.type));
    ASSERT_GT(width, 0) << batch.name << ", section " << section.id;
    ASSERT_GE(section.count, 0) << batch.name << ", section " << section.id;
    ASSERT_LE(section.count, section.capacity) << batch.name << ", section " << section.id;
    if (section.capacity == 0) continue;
    ASSERT_EQ(section.offset % ATTNPLAN_PLAN_ALIGNMENT, 0) << batch.name << ", " << section.id;
    ASSERT_GE(section.offset, used) << batch.name << ", section " << section.id << " overlaps";
    used = section.offset + section.capacity * width;
  }
  ASSERT_LE(used, static_cast<int64_t>(header.total_bytes)) << batch.name;
}

TEST(Layout, SectionsLieApartAndInside) {
  const int planned =
      for_random_plans(1, 6000,
                       [](const Batch& batch, const BatchStructs&, const attnplan_planner*,
                          const Buffer& plan) { check_table(batch, plan); });
  EXPECT_GT(planned, 2000);
}

void check_ranges(const Batch& batch, const Buffer& plan) {
  const attnplan_plan_header& header = property::header_of(plan);
  const std::vector<attnplan_byte_range> ranges = byte_ranges(plan);
  ASSERT_FALSE(ranges.empty()) << batch.name;
  int64_t end = 0;
  for (const attnplan_byte_range& range : ranges) {
    ASSERT_GT(range.bytes, 0) << batch.name;
    ASSERT_GE(range.offset, end) << batch.name << ": ranges ascend and do not overlap";
    end = range.offset + range.bytes;
  }
  ASSERT_LE(end, static_cast<int64_t>(header.total_bytes)) << batch.name;
  const int64_t table_end =
      header.header_bytes +
      int64_t{header.num_sections} * static_cast<int64_t>(sizeof(attnplan_section)) +
      static_cast<int64_t>(ranges.size() * sizeof(attnplan_byte_range));
  ASSERT_TRUE(in_ranges(ranges, 0, table_end)) << batch.name << ": header and tables";
  for (const attnplan_section& section : sections_of(plan)) {
    const int64_t bytes = section.count * static_cast<int64_t>(element_bytes(section.type));
    if (section.count == 0) continue;
    ASSERT_TRUE(in_ranges(ranges, section.offset, section.offset + bytes))
        << batch.name << ": section " << section.id << ", " << section.count << " elements";
  }
}

TEST(Layout, ByteRangesCoverAllThatIsUsed) {
  int fixed = 0;
  for_random_plans(10001, 16000,
                   [&fixed](const Batch& batch, const BatchStructs&, const attnplan_planner*,
                            const Buffer& plan) {
                     if ((property::header_of(plan).flags & ATTNPLAN_PLAN_FIXED_LAYOUT) == 0)
                       return;
                     check_ranges(batch, plan);
                     ++fixed;
                   });
  EXPECT_GT(fixed, 700);
}

// What was in the buffer before neither shows inside the ranges nor is touched outside.
TEST(Layout, NothingDependsOnWhatTheBufferHeld) {
  const Scratch scratch = property::create_scratch();
  int fixed = 0;
  for_random_plans(
      20001, 25000,
      [&](const Batch& batch, const BatchStructs& structs, const attnplan_planner* planner,
          const Buffer& plan) {
        Buffer again(plan.size());
        std::memset(again.data(), 0x5a, again.size());
        size_t bytes = 0;
        ASSERT_EQ(attnplan_plan_build(planner, scratch.get(), &structs.step(), structs.group(),
                                      again.data(), again.size(), &bytes, nullptr),
                  ATTNPLAN_OK);
        std::vector<attnplan_byte_range> ranges = byte_ranges(plan);
        if ((property::header_of(plan).flags & ATTNPLAN_PLAN_FIXED_LAYOUT) == 0) {
          ranges = {{0, static_cast<int64_t>(plan.size())}};
        } else {
          ++fixed;
        }
        size_t at = 0;
        for (const attnplan_byte_range& range : ranges) {
          const auto begin = static_cast<size_t>(range.offset);
          for (; at < begin; ++at) {
            ASSERT_EQ(again.data()[at], 0x5a) << batch.name << ": byte " << at << " is written";
            ASSERT_EQ(plan.data()[at], Buffer::kFill) << batch.name << ": byte " << at;
          }
          at = begin + static_cast<size_t>(range.bytes);
          ASSERT_EQ(std::memcmp(plan.data() + begin, again.data() + begin, at - begin), 0)
              << batch.name << ": range at " << begin;
        }
        for (; at < plan.size(); ++at)
          ASSERT_EQ(again.data()[at], 0x5a) << batch.name << ": " << at;
      });
  EXPECT_GT(fixed, 500);
}

// Offsets, capacities and the whole size: of the planner, not of the batch.
TEST(Layout, FixedMeansFixed) {
  const Scratch scratch = property::create_scratch();
  int compared = 0;
  for (uint64_t seed = 1; seed <= 1600; ++seed) {
    Dice dice(seed);
    Batch batch = random_planner(&dice);
    batch.config.section_layout = ATTNPLAN_SECTIONS_FIXED;
    set_limits(&dice, &batch);
    const BatchStructs of_planner(batch);
    Error error;
    const Planner planner = property::create_planner(of_planner.config(), &error);
    if (!planner) continue;
    std::vector<attnplan_section> first;
    size_t first_bytes = 0;
    for (int round = 0; round < 5; ++round) {
      random_step(&dice, &batch);
      if (!within_limits(batch)) continue;
      const BatchStructs structs(batch);
      const Buffer plan =
          property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
      if (plan.size() == 0) {
        ASSERT_TRUE(error.raw().code != ATTNPLAN_CODE_CAPACITY_EXCEEDED &&
                    error.raw().status != ATTNPLAN_INTERNAL)
            << "seed " << seed << ", round " << round << ": " << error.raw().message;
        continue;
      }
      const std::vector<attnplan_section> table = sections_of(plan);
      if (first.empty()) {
        first = table;
        first_bytes = plan.size();
        continue;
      }
      ++compared;
      ASSERT_EQ(plan.size(), first_bytes) << "seed " << seed;
      ASSERT_EQ(table.size(), first.size()) << "seed " << seed;
      for (size_t i = 0; i < table.size(); ++i) {
        ASSERT_EQ(table[i].id, first[i].id) << "seed " << seed;
        ASSERT_EQ(table[i].offset, first[i].offset) << "seed " << seed << ", " << table[i].id;
        ASSERT_EQ(table[i].capacity, first[i].capacity) << "seed " << seed << ", " << table[i].id;
      }
    }
  }
  EXPECT_GT(compared, 800);
}

// ------------------------------------------------------------------ fills

enum class Fill { kUnknown, kZero, kLast, kMinusOne };

Fill fill_of(int32_t section) {
  switch (section) {
    case ATTNPLAN_SECTION_SEQ_LENS:
    case ATTNPLAN_SECTION_CONTEXT_LENS:
    case ATTNPLAN_SECTION_LAST_PAGE_LEN:
    case ATTNPLAN_SECTION_CONTEXT_PARALLEL:
      return Fill::kZero;
    case ATTNPLAN_SECTION_QUERY_START_LOC:
    case ATTNPLAN_SECTION_PAGE_INDPTR:
    case ATTNPLAN_SECTION_WINDOW_CU_LEN:
    case ATTNPLAN_SECTION_WORKER_INDPTR:
    case ATTNPLAN_SECTION_MERGE_INDPTR:
      return Fill::kLast;
    case ATTNPLAN_SECTION_ORDER:
    case ATTNPLAN_SECTION_ROW_REQUEST:
    case ATTNPLAN_SECTION_ROW_POSITION:
    case ATTNPLAN_SECTION_PAGE_INDICES:
    case ATTNPLAN_SECTION_PAGE_TABLE:
    case ATTNPLAN_SECTION_SLOTS:
    case ATTNPLAN_SECTION_MERGE_SLOTS:
      return Fill::kMinusOne;
    default:
      return Fill::kUnknown;
  }
}

// Elements that belong to the batch and to the pads that a graph adds behind it.
int64_t filled_elements(const Buffer& plan, const attnplan_section& section) {
  const attnplan_plan_header& header = property::header_of(plan);
  const auto segments = property::segments_of(plan);
  const bool graph = header.graph_kind != ATTNPLAN_GRAPH_NONE;
  const int64_t begin = segments.empty() ? 0 : segments.front().req_begin;
  const int64_t behind = segments.empty() ? 0 : segments.back().req_end;
  int64_t requests = header.num_reqs;
  if (graph && header.graph_width > 0) {
    requests = std::max<int64_t>(requests, begin + header.graph_requests);
  }
  const int64_t rows = graph ? header.graph_rows : header.num_rows;
  switch (section.id) {
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      if (!graph || header.graph_width == 0) return section.count;
      return section.count + std::max<int64_t>(requests - behind, 0) + (segments.empty() ? 1 : 0);
    case ATTNPLAN_SECTION_SEQ_LENS:
    case ATTNPLAN_SECTION_CONTEXT_LENS:
    case ATTNPLAN_SECTION_LAST_PAGE_LEN:
      return requests;
    case ATTNPLAN_SECTION_PAGE_INDPTR:
      return requests + 1;
    case ATTNPLAN_SECTION_PAGE_TABLE:
      return requests * header.page_table_width;
    case ATTNPLAN_SECTION_ROW_REQUEST:
    case ATTNPLAN_SECTION_ROW_POSITION:
    case ATTNPLAN_SECTION_SLOTS:
    case ATTNPLAN_SECTION_CONTEXT_PARALLEL:
      return rows;
    default:
      return section.count;
  }
}

bool has_full_width_pads(const attnplan_config& config) {
  for (size_t i = 0; i < config.num_contracts; ++i) {
    if (config.contracts[i]->pads == ATTNPLAN_PADS_FULL_WIDTH) return true;
  }
  return false;
}

// Pads hold the fill; what is behind them, up to the next multiple of 64 bytes, is 0.
template <typename T>
void check_fill(const std::string& name, const Buffer& plan, const attnplan_section& section,
                const std::vector<attnplan_byte_range>& ranges, int64_t* checked) {
  const Fill fill = fill_of(section.id);
  const auto element = [&](int64_t i) {
    T value;
    std::memcpy(&value, plan.data() + section.offset + i * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
    return value;
  };
  T of_pads = fill == Fill::kMinusOne ? -1 : 0;
  if (fill == Fill::kLast && section.count > 0) of_pads = element(section.count - 1);
  const int64_t filled = filled_elements(plan, section);
  for (int64_t i = section.count; i < section.capacity; ++i) {
    const T expected = i < filled ? of_pads : 0;
    const int64_t at = section.offset + i * static_cast<int64_t>(sizeof(T));
    if (!in_ranges(ranges, at, at + static_cast<int64_t>(sizeof(T)))) return;
    ASSERT_EQ(element(i), expected) << name << ": section " << section.id << ", element " << i
                                    << " of " << section.count << "/" << section.capacity;
    ++*checked;
  }
}

TEST(Layout, UnusedElementsHoldTheirFill) {
  int64_t checked = 0;
  for_random_plans(30001, 35000,
                   [&checked](const Batch& batch, const BatchStructs& structs,
                              const attnplan_planner*, const Buffer& plan) {
                     if (has_full_width_pads(structs.config())) return;  // plan.pads checks those
                     std::vector<attnplan_byte_range> ranges = byte_ranges(plan);
                     if ((property::header_of(plan).flags & ATTNPLAN_PLAN_FIXED_LAYOUT) == 0) {
                       ranges = {{0, static_cast<int64_t>(plan.size())}};
                     }
                     for (const attnplan_section& section : sections_of(plan)) {
                       if (fill_of(section.id) == Fill::kUnknown) continue;
                       if (section.type == ATTNPLAN_TYPE_INT32) {
                         check_fill<int32_t>(batch.name, plan, section, ranges, &checked);
                       } else {
                         check_fill<int64_t>(batch.name, plan, section, ranges, &checked);
                       }
                     }
                   });
  EXPECT_GT(checked, 10000);
}

// A captured graph runs over its own extents: what it reads behind the live rows is defined.
TEST(Layout, AGraphsTailIsInsideTheRanges) {
  int graphs = 0, tails = 0;
  for_random_plans(
      40001, 58000,
      [&](const Batch& batch, const BatchStructs&, const attnplan_planner*, const Buffer& plan) {
        const attnplan_plan_header& header = property::header_of(plan);
        if ((header.flags & ATTNPLAN_PLAN_FIXED_LAYOUT) == 0) return;
        if (header.graph_kind == ATTNPLAN_GRAPH_NONE) return;
        ++graphs;
        const std::vector<attnplan_byte_range> ranges = byte_ranges(plan);
        for (const attnplan_section& section : sections_of(plan)) {
          int64_t extent = 0;
          if (section.extent == ATTNPLAN_EXTENT_ROWS) extent = header.graph_rows;
          if (section.extent == ATTNPLAN_EXTENT_REQUESTS) extent = header.graph_requests;
          if (section.id < ATTNPLAN_SECTION_QUERY_START_LOC ||
              section.id > ATTNPLAN_SECTION_SLOTS) {
            continue;  // nothing that a kernel of a captured graph indexes by request or row
          }
          const int64_t elements = std::min(extent, section.capacity);
          if (elements <= section.count) continue;
          const auto width = static_cast<int64_t>(element_bytes(section.type));
          ++tails;
          ASSERT_TRUE(in_ranges(ranges, section.offset, section.offset + elements * width))
              << batch.name << ": section " << section.id << ", " << section.count << " elements, "
              << "the graph has " << extent;
        }
      });
  EXPECT_GT(graphs, 100);
  EXPECT_GT(tails, 100);
}

}  // namespace
}  // namespace attnplan::plan
