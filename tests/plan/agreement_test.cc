// What a plan says in one section, it says in the others, with pads wherever a batch may have them;
// and a batch within the limits is never refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "everything.h"

namespace attnplan::plan {
namespace {

constexpr int32_t kBlockSize = 16, kNumBlocks = 200;

// A uniform decode kernel, an extend kernel and a prefill kernel, for graphs of a few sizes.
class Engine {
 public:
  explicit Engine(Dice* dice) {
    contracts_[0].name = "decode";
    contracts_[0].route = ATTNPLAN_ROUTE_DECODE;
    contracts_[0].flags = ATTNPLAN_CONTRACT_UNIFORM;
    contracts_[0].pads = dice->pick({ATTNPLAN_PADS_EMPTY, ATTNPLAN_PADS_FULL_WIDTH});
    contracts_[1].name = "extend";
    contracts_[1].route = ATTNPLAN_ROUTE_EXTEND;
    contracts_[1].graph = dice->pick({ATTNPLAN_CAPTURE_DEFAULT, ATTNPLAN_CAPTURE_ALWAYS});
    contracts_[2].name = "prefill";
    contracts_[2].route = ATTNPLAN_ROUTE_PREFILL;
    for (attnplan_contract& contract : contracts_) {
      contract.query_tile = dice->pick({0, 1, 16});
      contract.num_splits = dice->pick({0, 3});
    }
    cache_.num_blocks = kNumBlocks;
    cache_.block_size = kBlockSize;
    cache_.page_size = dice->pick({0, 4, 16});
    config.profile = "agreement";
    config.contracts = pointers_;
    config.num_contracts = 3;
    config.kv_cache = &cache_;
    config.num_q_heads = config.num_kv_heads * dice->pick({1, 8});
    config.decode_threshold = dice->pick({1, 2, 4});
    config.order = dice->pick({ATTNPLAN_ORDER_AS_GIVEN, ATTNPLAN_ORDER_SORT});
    config.ragged = dice->pick({ATTNPLAN_RAGGED_DEMOTE, ATTNPLAN_RAGGED_SPLIT_RUNS});
    config.max_num_seqs = dice->pick({1, 4, 8, 16});
    config.max_num_batched_tokens = dice->pick({16, 64});
    config.max_model_len = dice->pick({64, 500});
    config.chunk_workspace_tokens = 1 << 14;
    config.local_attention_chunk = 2 * kBlockSize;
    config.section_layout = dice->in32(ATTNPLAN_SECTIONS_AUTO, ATTNPLAN_SECTIONS_COMPACT);
    config.work = dice->percent(30) ? ATTNPLAN_WORK_STREAM_K : ATTNPLAN_WORK_NONE;
    config.num_workers = 8;
    if (dice->percent(80)) sizes_ = {dice->pick({4, 8}), 16};
    config.graph_full = {sizes_.data(), sizes_.size()};
    if (dice->percent(30)) config.graph_piecewise = {sizes_.data(), sizes_.size()};
    const bool all = dice->percent(40);
    for (int32_t id = kFirstSection; id <= kLastSection; ++id) {
      const bool brought =
          (ATTNPLAN_SECTION_CHUNK_LIST <= id && id <= ATTNPLAN_SECTION_CHUNK_SKIP_MERGE) ||
          id == ATTNPLAN_SECTION_WINDOW_START || id == ATTNPLAN_SECTION_WINDOW_CU_LEN;
      if (!brought && (all || dice->percent(50))) config.sections |= uint64_t{1} << id;
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  bool pads_have_full_width() const { return contracts_[0].pads == ATTNPLAN_PADS_FULL_WIDTH; }
  int64_t page_size() const { return cache_.page_size > 0 ? cache_.page_size : kBlockSize; }

  attnplan_config config = ATTNPLAN_CONFIG_INIT;

 private:
  attnplan_contract contracts_[3] = {ATTNPLAN_CONTRACT_INIT, ATTNPLAN_CONTRACT_INIT,
                                     ATTNPLAN_CONTRACT_INIT};
  const attnplan_contract* pointers_[3] = {&contracts_[0], &contracts_[1], &contracts_[2]};
  attnplan_kv_cache cache_ = ATTNPLAN_KV_CACHE_INIT;
  std::vector<int32_t> sizes_;
};

// Requests within the limits; pads in front, behind and, unless all are of one width, between.
class PaddedStep {
 public:
  PaddedStep(const attnplan_config& config, Dice* dice) {
    const int32_t most = dice->in32(0, config.max_num_seqs);
    const int32_t front = dice->percent(50) ? 0 : dice->in32(0, most);
    const int32_t back = dice->percent(50) ? most : dice->in32(front, most);
    const bool uniform = dice->percent(60);
    int32_t left = config.max_num_batched_tokens;
    for (int32_t i = 0; i < most; ++i) {
      int32_t rows = uniform ? config.decode_threshold : dice->pick({0, 1, 4, dice->in32(1, 9)});
      if (i < front || i >= back || rows > left) rows = 0;
      left -= rows;
      query_.push_back(rows);
      const int32_t seq = dice->in32(std::min(rows, config.max_model_len), config.max_model_len);
      seq_.push_back(std::max(seq, rows));
    }
    columns_ = (config.max_model_len + kBlockSize - 1) / kBlockSize;
    for (int32_t i = 0; i < most * columns_; ++i) ids_.push_back(dice->in32(1, kNumBlocks - 1));
    query_.reserve(1);
    seq_.reserve(1);
    ids_.reserve(1);
    group.block_ids = ids_.data();
    group.columns = columns_;
    step.query_lens = query_.data();
    step.seq_lens = seq_.data();
    step.num_reqs = most;
    if (dice->percent(10)) step.flags = ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  }
  PaddedStep(const PaddedStep&) = delete;
  PaddedStep& operator=(const PaddedStep&) = delete;

  std::string name() const {
    std::string text;
    for (size_t i = 0; i < query_.size(); ++i) {
      text += " " + std::to_string(query_[i]) + "/" + std::to_string(seq_[i]);
    }
    return text;
  }

  attnplan_group group = ATTNPLAN_GROUP_INIT;
  attnplan_step step = ATTNPLAN_STEP_INIT;

 private:
  std::vector<int32_t> query_, seq_, ids_;
  int32_t columns_ = 0;
};

// The first `count` elements, or nothing where the section is absent.
std::vector<int64_t> elements(const Buffer& plan, int32_t section, int64_t count) {
  const attnplan_section_view view = property::section_of(plan, section);
  if (view.data == nullptr) return {};
  EXPECT_GE(view.capacity, count) << "section " << section;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < std::min(count, view.capacity); ++i) {
    out.push_back(view.type == ATTNPLAN_TYPE_INT64 ? static_cast<const int64_t*>(view.data)[i]
                                                   : static_cast<const int32_t*>(view.data)[i]);
  }
  return out;
}

// Pages of every request, the graph's pads included, by each of the sections that say something
// about them.
void compare_pages(const Engine& engine, const Buffer& plan, int64_t requests) {
  const auto seq_lens = elements(plan, ATTNPLAN_SECTION_SEQ_LENS, requests);
  const auto indptr = elements(plan, ATTNPLAN_SECTION_PAGE_INDPTR, requests + 1);
  const auto last = elements(plan, ATTNPLAN_SECTION_LAST_PAGE_LEN, requests);
  const attnplan_section_view indices = property::section_of(plan, ATTNPLAN_SECTION_PAGE_INDICES);
  if (!indptr.empty() && indices.data != nullptr) {
    const auto n = static_cast<size_t>(property::header_of(plan).num_reqs);
    EXPECT_EQ(indices.count, indptr[n]) << "the batch's own requests";
    EXPECT_GE(indices.capacity, indptr.back()) << "with the graph's pads";
    for (int64_t page : elements(plan, ATTNPLAN_SECTION_PAGE_INDICES, indptr.back())) {
      EXPECT_GE(page, 0);
    }
  }
  const int64_t page_size = engine.page_size();
  for (size_t i = 0; i < seq_lens.size(); ++i) {
    const int64_t pages = (seq_lens[i] + page_size - 1) / page_size;
    const int64_t on_last = pages == 0 ? 0 : seq_lens[i] - (pages - 1) * page_size;
    if (!indptr.empty()) {
      EXPECT_EQ(indptr[i + 1] - indptr[i], pages) << "request " << i;
    }
    if (!last.empty()) {
      EXPECT_EQ(last[i], on_last) << "request " << i;
    }
  }
}

// Rows of a uniform full graph: `width` for every request of the grid that has any.
void compare_rows(const Engine& engine, const Buffer& plan) {
  const attnplan_plan_header& header = property::header_of(plan);
  const auto segments = property::segments_of(plan);
  const int64_t begin = segments.empty() ? 0 : segments[0].req_begin;
  const int64_t live = segments.empty() ? 0 : segments[0].num_live;
  const int64_t with_rows = engine.pads_have_full_width() ? header.graph_requests : live;
  const auto starts = elements(plan, ATTNPLAN_SECTION_QUERY_START_LOC, header.graph_requests + 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t before = std::min(static_cast<int64_t>(i), with_rows);
    EXPECT_EQ(starts[i], before * header.graph_width) << "start " << i;
  }
  const auto owner = elements(plan, ATTNPLAN_SECTION_ROW_REQUEST, header.graph_rows);
  for (size_t row = 0; row < owner.size(); ++row) {
    const int64_t request = static_cast<int64_t>(row) / header.graph_width;
    EXPECT_EQ(owner[row], request < with_rows ? begin + request : -1) << "row " << row;
  }
  const int64_t extent = std::max<int64_t>(header.num_reqs, begin + header.graph_requests);
  const auto seq_lens = elements(plan, ATTNPLAN_SECTION_SEQ_LENS, extent);
  for (size_t i = 0; i < seq_lens.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) - begin;
    const bool reads = at >= 0 && at < with_rows;
    EXPECT_EQ(seq_lens[i] > 0, reads) << "request " << i;
    if (reads && at >= live) {
      EXPECT_EQ(seq_lens[i], 1) << "request " << i;
    }
  }
}

struct Tally {
  int planned = 0, uniform = 0, leading = 0, full_pads = 0;
};

void check(const Engine& engine, const PaddedStep& given, const attnplan_planner* planner,
           attnplan_scratch* scratch, Tally* tally) {
  Error error;
  size_t bound = 0;
  ASSERT_EQ(attnplan_plan_bound(planner, &bound, error.get()), ATTNPLAN_OK);
  const Buffer plan = property::build(planner, scratch, given.step, &given.group, &error);
  ASSERT_GT(plan.size(), 0u) << error.raw().message;
  EXPECT_LE(plan.size(), bound);
  EXPECT_EQ(attnplan_plan_verify(plan.data(), plan.size(), nullptr, nullptr, nullptr, nullptr,
                                 error.get()),
            ATTNPLAN_OK)
      << error.raw().message;
  EXPECT_EQ(attnplan_plan_verify(plan.data(), plan.size(), planner, scratch, &given.step,
                                 &given.group, error.get()),
            ATTNPLAN_OK)
      << error.raw().message;
  ++tally->planned;
  const attnplan_plan_header& header = property::header_of(plan);
  if (given.step.flags != 0) return;  // lists of pages are the device's
  const auto segments = property::segments_of(plan);
  const int32_t begin = segments.empty() ? 0 : segments[0].req_begin;
  const bool uniform = (header.flags & ATTNPLAN_PLAN_HAS_GRAPH) != 0 && header.graph_width > 0;
  compare_pages(
      engine, plan,
      uniform ? std::max(header.num_reqs, begin + header.graph_requests) : header.num_reqs);
  if (!uniform) return;
  compare_rows(engine, plan);
  ++tally->uniform;
  tally->leading += begin > 0;
  tally->full_pads += engine.pads_have_full_width() && header.graph_pad_requests > 0;
}

TEST(Agreement, SectionsSayTheSameWhereverPadsStand) {
  const Scratch scratch = property::create_scratch();
  Tally tally;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Dice dice(seed);
    const Engine engine(&dice);
    Error error;
    const Planner planner = property::create_planner(engine.config, &error);
    ASSERT_TRUE(planner) << "seed " << seed << ": " << error.raw().message;
    for (int round = 0; round < 20; ++round) {
      const PaddedStep step(engine.config, &dice);
      SCOPED_TRACE("seed " + std::to_string(seed) + ":" + step.name());
      check(engine, step, planner.get(), scratch.get(), &tally);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(tally.planned, 10000);
  EXPECT_GT(tally.uniform, 1500);
  EXPECT_GT(tally.leading, 150);
  EXPECT_GT(tally.full_pads, 300);
}

}  // namespace
}  // namespace attnplan::plan
