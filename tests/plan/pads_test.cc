// What a captured graph finds where the batch has ended, and batches of nothing at all.
#include <gtest/gtest.h>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr int32_t kWidth = 2, kLive = 3, kGraphRows = 12, kGraphRequests = 6, kColumns = 4;

uint64_t sections(std::initializer_list<int32_t> ids) {
  uint64_t bits = 0;
  for (int32_t id : ids) bits |= uint64_t{1} << id;
  return bits;
}

// Three verify steps of two rows in a graph of six, and pads of the step's own behind them.
class PaddedPlan {
 public:
  PaddedPlan(int32_t pads, int step_pads) {
    contract_.name = "persistent";
    contract_.route = ATTNPLAN_ROUTE_DECODE;
    contract_.flags = ATTNPLAN_CONTRACT_UNIFORM;
    contract_.pads = pads;
    cache_.num_blocks = 100;
    cache_.block_size = 16;
    config_.profile = "persistent";
    config_.contracts = &contracts_;
    config_.num_contracts = 1;
    config_.kv_cache = &cache_;
    config_.decode_threshold = kWidth;
    config_.max_num_seqs = 8;
    config_.max_num_batched_tokens = 16;
    config_.max_model_len = 64;
    config_.graph_full = {&kGraphRows_, 1};
    config_.sections = sections(
        {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_ROW_REQUEST,
         ATTNPLAN_SECTION_ROW_POSITION, ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_PAGE_INDICES,
         ATTNPLAN_SECTION_LAST_PAGE_LEN, ATTNPLAN_SECTION_PAGE_TABLE, ATTNPLAN_SECTION_SLOTS});
    std::vector<int32_t> query(kLive, kWidth), seq = {20, 34, 5};
    for (int i = 0; i < step_pads; ++i) {
      query.push_back(0);
      seq.push_back(7);  // of the last tenant
    }
    const std::vector<int32_t> ids(query.size() * kColumns, 3);
    attnplan_group group = ATTNPLAN_GROUP_INIT;
    group.block_ids = ids.data();
    group.columns = kColumns;
    attnplan_step step = ATTNPLAN_STEP_INIT;
    step.query_lens = query.data();
    step.seq_lens = seq.data();
    step.num_reqs = static_cast<int32_t>(query.size());
    Error error;
    const Planner planner = property::create_planner(config_, &error);
    EXPECT_TRUE(planner) << error.raw().message;
    const Scratch scratch = property::create_scratch();
    plan_ = property::build(planner.get(), scratch.get(), step, &group, &error);
    EXPECT_GT(plan_.size(), 0u) << error.raw().message;
    EXPECT_EQ(property::header_of(plan_).graph_kind, ATTNPLAN_GRAPH_FULL);
    EXPECT_EQ(property::header_of(plan_).graph_requests, kGraphRequests);
    EXPECT_EQ(property::header_of(plan_).graph_pad_requests, kGraphRequests - kLive);
  }

  // The first `count` elements, used or not.
  template <typename T>
  std::vector<T> elements(int32_t section, size_t count) const {
    const attnplan_section_view view = property::section_of(plan_, section);
    EXPECT_GE(view.capacity, static_cast<int64_t>(count)) << section;
    const T* data = static_cast<const T*>(view.data);
    return data == nullptr ? std::vector<T>() : std::vector<T>(data, data + count);
  }
  std::vector<int32_t> ints(int32_t section, size_t count) const {
    return elements<int32_t>(section, count);
  }

 private:
  const int32_t kGraphRows_ = kGraphRows;
  attnplan_contract contract_ = ATTNPLAN_CONTRACT_INIT;
  const attnplan_contract* contracts_ = &contract_;
  attnplan_kv_cache cache_ = ATTNPLAN_KV_CACHE_INIT;
  attnplan_config config_ = ATTNPLAN_CONFIG_INIT;
  Buffer plan_;
};

class Pads : public testing::TestWithParam<int> {};  // pads that the step itself holds

TEST_P(Pads, OfFullWidthHaveRowsAndOneToken) {
  const PaddedPlan plan(ATTNPLAN_PADS_FULL_WIDTH, GetParam());
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_QUERY_START_LOC, 7), (Ints{0, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_SEQ_LENS, 6), (Ints{20, 34, 5, 1, 1, 1}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_ROW_REQUEST, 12),
            (Ints{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_PAGE_INDPTR, 7), (Ints{0, 2, 5, 6, 7, 8, 9}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_PAGE_INDICES, 9), (Ints{3, 3, 3, 3, 3, 3, 0, 0, 0}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_LAST_PAGE_LEN, 6), (Ints{4, 2, 5, 1, 1, 1}));
  const Ints table = plan.ints(ATTNPLAN_SECTION_PAGE_TABLE, 6 * kColumns);
  EXPECT_EQ(table, (Ints{3, 3,  -1, -1, 3, 3,  3,  -1, 3, -1, -1, -1,  //
                         0, -1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1}));
  EXPECT_EQ(plan.elements<int64_t>(ATTNPLAN_SECTION_SLOTS, 12),
            (std::vector<int64_t>{50, 51, 48, 49, 51, 52, -1, -1, -1, -1, -1, -1}));
}

TEST_P(Pads, OfOtherKernelsAreEmpty) {
  const PaddedPlan plan(ATTNPLAN_PADS_EMPTY, GetParam());
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_QUERY_START_LOC, 7), (Ints{0, 2, 4, 6, 6, 6, 6}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_SEQ_LENS, 6), (Ints{20, 34, 5, 0, 0, 0}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_ROW_REQUEST, 12),
            (Ints{0, 0, 1, 1, 2, 2, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_ROW_POSITION, 12),
            (Ints{18, 19, 32, 33, 3, 4, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_PAGE_INDPTR, 7), (Ints{0, 2, 5, 6, 6, 6, 6}));
  EXPECT_EQ(plan.ints(ATTNPLAN_SECTION_LAST_PAGE_LEN, 6), (Ints{4, 2, 5, 0, 0, 0}));
  const Ints table = plan.ints(ATTNPLAN_SECTION_PAGE_TABLE, 6 * kColumns);
  EXPECT_EQ(Ints(table.begin() + kLive * kColumns, table.end()), Ints(3 * kColumns, -1));
  EXPECT_EQ(plan.elements<int64_t>(ATTNPLAN_SECTION_SLOTS, 12),
            (std::vector<int64_t>{50, 51, 48, 49, 51, 52, -1, -1, -1, -1, -1, -1}));
}

INSTANTIATE_TEST_SUITE_P(OfTheStep, Pads, testing::Values(0, 1, 2, 3));

// ------------------------------------------------------------------ nothing

// All sections, no live request, every phase: no division by a count, nothing of the last step.
TEST(Nothing, IsAPlanWithEverySection) {
  const Scratch scratch = property::create_scratch();
  int planned = 0;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    Dice dice(seed);
    Batch batch = random_planner(&dice);
    set_limits(&dice, &batch);
    const bool with_pads = dice.percent(40);
    batch.query = oracle::Ints(with_pads ? 3 : 0, 0);
    batch.seq_lens = batch.query;
    batch.step.phase = dice.in32(ATTNPLAN_PHASE_TARGET, ATTNPLAN_PHASE_IDLE);
    batch.step.flags = static_cast<uint32_t>(dice.in(0, 3));
    if (batch.kv_cache) {
      batch.table.emplace();
      batch.table->ids.emplace();
      batch.table->indptr = oracle::Ints(batch.query.size() + 1, 0);
    }
    for (int round = 0; round < 2; ++round) {
      const BatchStructs structs(batch);
      Error error;
      const Planner planner = property::create_planner(structs.config(), &error);
      if (!planner) break;
      const Buffer plan =
          property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
      ASSERT_GT(plan.size(), 0u) << "seed " << seed << ": " << error.raw().message;
      const attnplan_plan_header& header = property::header_of(plan);
      EXPECT_EQ(header.num_segments, 0);
      EXPECT_EQ(header.num_rows, 0);
      EXPECT_EQ(header.num_pads, static_cast<int32_t>(batch.query.size()));
      EXPECT_EQ(attnplan_plan_verify(plan.data(), plan.size(), planner.get(), scratch.get(),
                                     &structs.step(), structs.group(), error.get()),
                ATTNPLAN_OK)
          << "seed " << seed << ": " << error.raw().message;
      for (const attnplan_section& section : sections_of(plan)) {
        if (section.extent != ATTNPLAN_EXTENT_ROWS) continue;
        EXPECT_EQ(section.count, 0) << "seed " << seed << ", section " << section.id;
      }
      ++planned;
      batch.step.num_tokens_padded = dice.in32(1, batch.config.max_num_batched_tokens);
    }
  }
  EXPECT_GT(planned, 5000);
}

}  // namespace
}  // namespace attnplan::plan
