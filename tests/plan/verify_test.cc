// attnplan_plan_verify: a plan from an untrusted place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "blob_reader.h"
#include "everything.h"

namespace attnplan::plan {
namespace {

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

// Three verify steps, on a planner that lists everything about them.
struct Verification {
  Verification() {
    cache.num_blocks = 200;
    cache.block_size = cache.page_size = 16;
    attnplan_config config = ATTNPLAN_CONFIG_INIT;
    config.profile = "aiter_mha";
    config.decode_threshold = 4;
    config.kv_cache = &cache;
    config.num_workers = 8;
    config.work = ATTNPLAN_WORK_STREAM_K;
    for (int32_t id :
         {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_ROW_REQUEST,
          ATTNPLAN_SECTION_ROW_POSITION, ATTNPLAN_SECTION_PAGE_INDPTR}) {
      config.sections |= uint64_t{1} << id;
    }
    Error error;
    planner = property::create_planner(config, &error);
    attnplan_step step = ATTNPLAN_STEP_INIT;
    step.num_reqs = 3;
    step.query_lens = query_lens;
    step.seq_lens = seq_lens;
    plan = property::build(planner.get(), property::create_scratch().get(), step, nullptr, &error);
  }

  size_t section(int32_t id) const {
    for (const attnplan_section& section : sections_of(plan)) {
      if (section.id == id) return static_cast<size_t>(section.offset);
    }
    return 0;
  }
  // The complaint about the plan with one number set.
  std::string judge(size_t offset, int32_t value, bool with_planner = false) const {
    Buffer blob = copy(plan, plan.size());
    std::memcpy(blob.data() + offset, &value, sizeof value);
    Error error;
    attnplan_plan_verify(blob.data(), blob.size(), with_planner ? planner.get() : nullptr, nullptr,
                         nullptr, nullptr, error.get());
    return error.raw().message;
  }

  const int32_t query_lens[3] = {4, 4, 4}, seq_lens[3] = {100, 50, 30};
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  Planner planner;
  Buffer plan;
};

TEST(Verify, SaysWhatIsWrongWhereAndWhatTheLimitIs) {
  const Verification v;
  const auto items = v.section(ATTNPLAN_SECTION_WORK_ITEMS);
  const auto work = v.section(ATTNPLAN_SECTION_WORK);
  const auto segment = v.section(ATTNPLAN_SECTION_SEGMENTS);
  struct Forged {
    size_t offset;
    int32_t value;
    const char* complaint;
  };
  const Forged all[] = {
      {offsetof(attnplan_plan_header, magic), 7, "header: magic is 7, must be 1280332865"},
      {offsetof(attnplan_plan_header, major), 9, "header: major version is 9, must be 0"},
      {offsetof(attnplan_plan_header, num_reqs), 1000, "header: num_pads is 0, must be 997"},
      {offsetof(attnplan_plan_header, num_rows), 1 << 30, "last row_end is 12, must be 1073741824"},
      {offsetof(attnplan_plan_header, graph_kind), 9, "header: graph_kind is 9, must be in [0, 0]"},
      {offsetof(attnplan_plan_header, num_kv_heads), 0, "header: num_kv_heads is 0, must be in [1"},
      {offsetof(attnplan_plan_header, num_kv_heads), 3,
       "header: num_q_heads modulo num_kv_heads is 1, must be 0"},
      {offsetof(attnplan_plan_header, head_size), -128, "header: head_size is -128, must be in [1"},
      {offsetof(attnplan_plan_header, mask), 2, "header: mask is 2, must be in [0, 1]"},
      {offsetof(attnplan_plan_header, sliding_window), -1, "header: sliding_window is -1, must be"},
      {offsetof(attnplan_plan_header, num_blocks), 0,
       "header: having a block_size is 1, must be 0"},
      {offsetof(attnplan_plan_header, num_segments), 5, "header does not count the segments (5"},
      {segment + offsetof(attnplan_segment, width), 3, "segments[0]: rows is 12, must be 9"},
      {segment + offsetof(attnplan_segment, route), 77,
       "segments[0]: route is 77, must be in [1, 3]"},
      {segment + offsetof(attnplan_segment, kernel), -1,
       "segments[0]: kernel is -1, must be in [0"},
      {segment + offsetof(attnplan_segment, query_start_loc_begin), 1 << 20,
       "segments[0]: query_start_loc_begin is 1048576, must be 0"},
      {v.section(ATTNPLAN_SECTION_QUERY_START_LOC) + 4, -1,
       "query_start_loc[1]: start is -1, must be in [0, 12]"},
      {v.section(ATTNPLAN_SECTION_ROW_REQUEST) + 4, 1 << 20,
       "row_request[1]: request is 1048576, must be in [0, 2]"},
      {v.section(ATTNPLAN_SECTION_SEQ_LENS) + 8, -1,
       "seq_lens[2]: tokens is -1, must be in [0, 100]"},
      {v.section(ATTNPLAN_SECTION_PAGE_INDPTR) + 8, -3,
       "page_indptr[2]: start is -3, must be in [7, 2147483647]"},
      {items + offsetof(attnplan_work_item, request), 99,
       "work_items[0]: request is 99, must be in [0, 2]"},
      {items + offsetof(attnplan_work_item, kv_head), 99,
       "work_items[0]: kv_head is 99, must be in"},
      {items + offsetof(attnplan_work_item, row_end), 5,
       "work_items[0]: row_end is 5, must be in [1, 4]"},
      {items + offsetof(attnplan_work_item, kv_end), 101,
       "work_items[0]: kv_end is 101, must be in [0, 100]"},
      {items + offsetof(attnplan_work_item, kv_begin), -5,
       "work_items[0]: kv_begin is -5, must be in [0"},
      {items + offsetof(attnplan_work_item, slot), 1 << 20,
       "work_items[0]: slot is 1048576, must be in [-1"},
      {items + offsetof(attnplan_work_item, flags), 255,
       "work_items[0]: flags is 255, must be in [0, 3]"},
      {work + offsetof(attnplan_work, workers), 1 << 20,
       "work: workers is 1048576, must be in [1, 65536]"},
      {work + offsetof(attnplan_work, workers), 9, "worker_indptr: count is 9, must be 10"},
      {v.section(ATTNPLAN_SECTION_WORKER_INDPTR) + 4, 1 << 20,
       "worker_indptr[1]: start is 1048576, must be in [0"},
  };
  for (const Forged& forged : all) {
    const std::string message = v.judge(forged.offset, forged.value);
    EXPECT_NE(message.find(forged.complaint), std::string::npos) << forged.complaint << "\n"
                                                                 << message;
  }
}

TEST(Verify, RowsThatMoveStandInOneSegment) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "hip";
  config.decode_threshold = 4;
  Error error;
  const Planner planner = property::create_planner(config, &error);
  const int32_t query_lens[] = {4, 3, 90, 80}, seq_lens[] = {100, 50, 90, 80};
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.num_reqs = 4;
  step.query_lens = query_lens;
  step.seq_lens = seq_lens;
  step.flags = ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  const Buffer plan =
      property::build(planner.get(), property::create_scratch().get(), step, nullptr, &error);
  const auto segments = property::segments_of(plan);
  ASSERT_EQ(segments.size(), 2u) << error.raw().message;
  const auto verify = [&error](const Buffer& blob) {
    return attnplan_plan_verify(blob.data(), blob.size(), nullptr, nullptr, nullptr, nullptr,
                                error.get());
  };
  EXPECT_EQ(verify(plan), ATTNPLAN_OK) << error.raw().message;
  Buffer forged = copy(plan, plan.size());
  attnplan_segment second = segments[1];
  second.flags = 0;
  const auto at = reinterpret_cast<const uint8_t*>(&segments[1]) -
                  reinterpret_cast<const uint8_t*>(plan.data());
  std::memcpy(forged.data() + at, &second, sizeof second);
  EXPECT_EQ(verify(forged), ATTNPLAN_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.raw().message)
                .find("segments[1] is the second one whose rows the device shares out"),
            std::string::npos)
      << error.raw().message;
}

TEST(Verify, APlannerAloneKnowsItsKernelsHeadsAndPages) {
  const Verification v;
  const auto segment = v.section(ATTNPLAN_SECTION_SEGMENTS);
  const auto pages = v.section(ATTNPLAN_SECTION_PAGE_INDPTR) + 4;
  EXPECT_EQ(v.judge(pages, 7, true), "") << "what stands there anyway";
  EXPECT_EQ(v.judge(segment + offsetof(attnplan_segment, kernel), 1 << 30, true),
            "not a sound plan: segments[0]: kernel is 1073741824, must be in [0, 2]");
  EXPECT_EQ(v.judge(segment + offsetof(attnplan_segment, page_size), 128, true),
            "not a sound plan: segments[0]: page_size is 128, must be 16");
  EXPECT_EQ(v.judge(pages, 6, true),
            "not a sound plan: page_indptr[0]: pages from here is 6, must be 7");
  const struct {
    const char* name;
    size_t offset;
    int own;
  } figures[] = {{"num_q_heads", offsetof(attnplan_plan_header, num_q_heads), 16},
                 {"num_kv_heads", offsetof(attnplan_plan_header, num_kv_heads), 1},
                 {"head_size", offsetof(attnplan_plan_header, head_size), 128},
                 {"v_head_size", offsetof(attnplan_plan_header, v_head_size), 128},
                 {"mask", offsetof(attnplan_plan_header, mask), 0},
                 {"sliding_window", offsetof(attnplan_plan_header, sliding_window), 0},
                 {"num_blocks", offsetof(attnplan_plan_header, num_blocks), 200},
                 {"block_size", offsetof(attnplan_plan_header, block_size), 16},
                 {"layout", offsetof(attnplan_plan_header, layout), 0},
                 {"cache_flags", offsetof(attnplan_plan_header, cache_flags), 0}};
  for (const auto& f : figures) {
    EXPECT_EQ(v.judge(f.offset, f.own, true), "") << f.name;
    const std::string message = v.judge(f.offset, 2, true);
    EXPECT_EQ(message.find(std::string("not a sound plan: header: ") + f.name + " is 2, must be "),
              0u)
        << message;
  }
  EXPECT_EQ(v.judge(offsetof(attnplan_plan_header, planner_hash), 1, true),
            "not a sound plan: header has the planner_hash of another planner (0, limit 0)");
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
