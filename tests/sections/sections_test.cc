// Borders of single sections, and what holds of every list whatever the formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "compare_sections.h"
#include "dice.h"
#include "section_batch.h"

namespace attnplan::sections_test {
namespace {

using oracle::Batch;
using oracle::BatchStructs;
using oracle::BlockTable;
using oracle::Contract;
using oracle::Ints;
using property::Buffer;
using property::Dice;
using property::Error;

Batch make_batch(const Ints& query, const Ints& seq, std::initializer_list<int> sections) {
  Batch batch;
  batch.profile = "unified";
  batch.query = query;
  batch.seq_lens = seq;
  for (int section : sections) batch.config.sections |= uint64_t{1} << section;
  return batch;
}

void give_cache(Batch* batch, int32_t num_blocks, int32_t block_size, int32_t page_size = 0) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = num_blocks;
  cache.block_size = block_size;
  cache.page_size = page_size;
  batch->kv_cache = cache;
}

// Every request owns `columns` blocks, counted on from one to the next.
void give_table(Batch* batch, int32_t columns) {
  BlockTable table;
  table.columns = columns;
  table.ids = Ints(static_cast<size_t>(columns) * static_cast<size_t>(batch->num_reqs()));
  std::iota(table.ids->begin(), table.ids->end(), 0);
  for (int32_t& id : *table.ids) id %= batch->kv_cache->num_blocks;
  batch->table = table;
}

struct Planned {
  attnplan_status status = ATTNPLAN_OK;
  attnplan_code code = ATTNPLAN_CODE_NONE;
  Buffer plan;

  std::vector<int64_t> section(int32_t id) const { return flatten(property::section_of(plan, id)); }
};

Planned plan_structs(const attnplan_config& config, const attnplan_step& step,
                     const attnplan_group* group) {
  Planned out;
  Error error;
  const property::Planner planner = property::create_planner(config, &error);
  const property::Scratch scratch = property::create_scratch();
  if (planner) out.plan = property::build(planner.get(), scratch.get(), step, group, &error);
  out.status = error.raw().status;
  out.code = error.raw().code;
  return out;
}

Planned plan(const Batch& batch) {
  const BatchStructs structs(batch);
  return plan_structs(structs.config(), structs.step(), structs.group());
}

using Values = std::vector<int64_t>;

TEST(Pages, OfOneTokenAreListedUpToALimit) {
  constexpr int32_t kLimit = 1 << 20;
  Batch batch = make_batch({1, 1}, {kLimit - 5, 5},
                           {ATTNPLAN_SECTION_PAGE_INDICES, ATTNPLAN_SECTION_PAGE_INDPTR});
  give_cache(&batch, 5000, 1024, 1);
  give_table(&batch, 1025);
  const Planned fits = plan(batch);
  ASSERT_EQ(fits.status, ATTNPLAN_OK);
  EXPECT_EQ(fits.section(ATTNPLAN_SECTION_PAGE_INDICES).size(), size_t{kLimit});
  batch.seq_lens = Ints{kLimit - 5, 6};
  EXPECT_EQ(plan(batch).code, ATTNPLAN_CODE_CAPACITY_EXCEEDED);
  give_cache(&batch, 5000, 1024, 2);
  EXPECT_EQ(plan(batch).status, ATTNPLAN_OK);
  // The lists around it describe a list that cannot be made.
  give_cache(&batch, 5000, 1024, 1);
  batch.config.sections = uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDPTR;
  EXPECT_EQ(plan(batch).code, ATTNPLAN_CODE_CAPACITY_EXCEEDED);
  // A table has one entry a page and request, and no such limit.
  batch.config.sections = uint64_t{1} << ATTNPLAN_SECTION_PAGE_TABLE;
  EXPECT_EQ(plan(batch).status, ATTNPLAN_OK);
}

TEST(Pages, NeedTheIdsOfABlockTable) {
  for (int section :
       {ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_PAGE_INDICES, ATTNPLAN_SECTION_LAST_PAGE_LEN,
        ATTNPLAN_SECTION_PAGE_TABLE, ATTNPLAN_SECTION_SLOTS}) {
    SCOPED_TRACE(section);
    // Counts and rests follow from the lengths alone.
    const bool lengths_only =
        section == ATTNPLAN_SECTION_PAGE_INDPTR || section == ATTNPLAN_SECTION_LAST_PAGE_LEN;
    const attnplan_status without = lengths_only ? ATTNPLAN_OK : ATTNPLAN_INVALID_ARGUMENT;
    Batch batch = make_batch({1}, {20}, {section});
    EXPECT_EQ(plan(batch).status, ATTNPLAN_INVALID_ARGUMENT) << "no cache";
    give_cache(&batch, 8, 16);
    EXPECT_EQ(plan(batch).status, without) << "no table";
    give_table(&batch, 2);
    EXPECT_EQ(plan(batch).status, ATTNPLAN_OK);
    batch.table->ids.reset();
    EXPECT_EQ(plan(batch).status, without) << "no ids";
  }
}

TEST(Slots, BeyondTheCacheAreRefused) {
  Batch batch = make_batch({2, 0, 2}, {2, 0, 9}, {ATTNPLAN_SECTION_SEQ_LENS});
  give_cache(&batch, 64, 16);
  const BatchStructs structs(batch);
  const property::Scratch scratch = property::create_scratch();
  Error error;
  const property::Planner planner = property::create_planner(structs.config(), &error);
  ASSERT_TRUE(planner);
  const auto build = [&](std::vector<int64_t> slots, bool as_int64, uint32_t flags) {
    const Ints narrow(slots.begin(), slots.end());
    attnplan_group group = ATTNPLAN_GROUP_INIT;
    group.slot_mapping = as_int64 ? static_cast<const void*>(slots.data()) : narrow.data();
    group.flags = flags | (as_int64 ? ATTNPLAN_GROUP_SLOTS_INT64 : 0);
    size_t bytes = 0;
    return attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), &group, &bytes,
                              error.get());
  };
  for (const bool as_int64 : {false, true}) {
    const int64_t least = as_int64 ? INT64_MIN : INT32_MIN;
    const int64_t most = as_int64 ? INT64_MAX : INT32_MAX;
    EXPECT_EQ(build({-1, 1023, least, 0}, as_int64, 0), ATTNPLAN_OK) << error.raw().message;
    for (const int64_t slot : {int64_t{1024}, most}) {
      EXPECT_EQ(build({-1, 1023, 0, slot}, as_int64, 0), ATTNPLAN_PLAN_ERROR);
      EXPECT_EQ(error.raw().code, ATTNPLAN_CODE_PAGE_OUT_OF_RANGE);
      EXPECT_EQ(error.raw().request, 2);
      EXPECT_EQ(error.raw().value, slot);
      EXPECT_EQ(error.raw().limit, 1024);
      EXPECT_EQ(build({-1, 1023, 0, slot}, as_int64, ATTNPLAN_GROUP_SKIP_ID_CHECK), ATTNPLAN_OK);
    }
  }
}

TEST(Slots, BehindTheClampOfADraftStepMeanNothing) {
  Batch batch = make_batch({2}, {33}, {ATTNPLAN_SECTION_SLOTS});
  give_cache(&batch, 64, 16);
  give_table(&batch, 2);  // 32 tokens: row 1 has no place
  const BatchStructs structs(batch);
  attnplan_step step = structs.step();
  step.phase = ATTNPLAN_PHASE_DRAFT;
  attnplan_group group = *structs.group();
  for (const auto& [slots, status] :
       {std::pair{Ints{40, 5000}, ATTNPLAN_OK}, std::pair{Ints{5000, 40}, ATTNPLAN_PLAN_ERROR}}) {
    group.slot_mapping = slots.data();
    EXPECT_EQ(plan_structs(structs.config(), step, &group).status, status);
  }
}

TEST(Slots, AreRebasedFromEitherWidth) {
  Batch batch = make_batch({2, 2, 1}, {2, 9, 3}, {ATTNPLAN_SECTION_SLOTS});
  give_cache(&batch, 1 << 20, 1 << 11);
  batch.kv_cache->flags = ATTNPLAN_KV_PACKED;
  batch.config.order = ATTNPLAN_ORDER_SORT;  // decodes first: requests 2 and 1, then the prefill
  batch.config.decode_threshold = 2;
  const std::vector<int64_t> wide = {0, 2047, 2048, (int64_t{1} << 31) - 1, -7};
  const Ints narrow(wide.begin(), wide.end());
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  const BatchStructs structs(batch);
  const int64_t last = ((int64_t{1} << 31) - 1) + (int64_t{1} << 31) - 2048;
  for (const bool as_int64 : {false, true}) {
    group.slot_mapping = as_int64 ? static_cast<const void*>(wide.data()) : narrow.data();
    group.flags = as_int64 ? ATTNPLAN_GROUP_SLOTS_INT64 : 0;
    const Planned planned = plan_structs(structs.config(), structs.step(), &group);
    ASSERT_EQ(planned.status, ATTNPLAN_OK);
    const Values order = planned.section(ATTNPLAN_SECTION_ORDER);
    ASSERT_EQ(order, (Values{1, 2, 0}));
    const Values slots = planned.section(ATTNPLAN_SECTION_SLOTS);
    ASSERT_EQ(slots.size(), 5u);
    EXPECT_EQ(slots[0], 4096);
    EXPECT_EQ(slots[1], last) << "beyond 32 bits once rebased";
    EXPECT_LT(slots[2], 0);
    EXPECT_EQ(slots[3], 0);
    EXPECT_EQ(slots[4], 2047);
  }
}

TEST(Draft, RowsBehindTheClampHaveNoPlace) {
  Batch batch = make_batch({4}, {34},
                           {ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_ROW_POSITION,
                            ATTNPLAN_SECTION_SLOTS, ATTNPLAN_SECTION_PAGE_INDICES,
                            ATTNPLAN_SECTION_LAST_PAGE_LEN, ATTNPLAN_SECTION_CONTEXT_LENS});
  batch.config.decode_threshold = 4;
  batch.step.phase = ATTNPLAN_PHASE_DRAFT;
  give_cache(&batch, 8, 16);
  give_table(&batch, 2);
  const Planned planned = plan(batch);
  ASSERT_EQ(planned.status, ATTNPLAN_OK);
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_SEQ_LENS), (Values{32}));
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_CONTEXT_LENS), (Values{30})) << "what it was";
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_ROW_POSITION), (Values{30, 31, -1, -1}));
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_SLOTS), (Values{30, 31, -1, -1}));
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_PAGE_INDICES), (Values{0, 1}));
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_LAST_PAGE_LEN), (Values{16}));
}

// What holds of every cut: each context once, in order, and no chunk beyond the workspace.
void check_cut(const Ints& contexts, int64_t page, const attnplan_config& config,
               const Planned& planned) {
  const Values sets = planned.section(ATTNPLAN_SECTION_CHUNKS);
  const Values chunks = planned.section(ATTNPLAN_SECTION_CHUNK_LIST);
  const Values cu_lens = planned.section(ATTNPLAN_SECTION_CHUNK_CU_LENS);
  const Values tokens = planned.section(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST);
  ASSERT_EQ(sets.size(), 4u);
  const int64_t chunk = sets[1], n = static_cast<int64_t>(contexts.size());
  ASSERT_EQ(chunk % page, 0);
  ASSERT_EQ(static_cast<int64_t>(cu_lens.size()), sets[2] * (n + 1));
  Values covered(contexts.size(), 0);
  for (int64_t k = 0; k < sets[2]; ++k) {
    const int64_t* of_chunk = &chunks[static_cast<size_t>(4 * k)];
    ASSERT_LE(of_chunk[0], config.chunk_workspace_tokens);
    for (int64_t i = 0; i < n; ++i) {
      const size_t at = static_cast<size_t>(of_chunk[2] + i);
      const int64_t length = cu_lens[at + 1] - cu_lens[at];
      ASSERT_LE(length, chunk);
      ASSERT_TRUE(length == chunk || k * chunk + length >= contexts[static_cast<size_t>(i)]);
      covered[static_cast<size_t>(i)] += length;
      for (int64_t t = cu_lens[at]; t < cu_lens[at + 1]; ++t) {
        ASSERT_EQ(tokens[static_cast<size_t>(of_chunk[3] + t)], i);
      }
    }
    ASSERT_EQ(cu_lens[static_cast<size_t>(of_chunk[2] + n)], of_chunk[0]);
  }
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(covered[static_cast<size_t>(i)], contexts[static_cast<size_t>(i)]);
  }
}

int64_t gathered(const Ints& contexts, int64_t chunk) {
  int64_t sum = 0;
  for (int64_t context : contexts) sum += std::min(context, chunk);
  return sum;
}

TEST(Chunks, CoverEveryContextOnceAndFillTheWorkspace) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const size_t n = static_cast<size_t>(dice.in(1, 6));
    Ints contexts, seq;
    for (size_t i = 0; i < n; ++i) {
      contexts.push_back(dice.percent(15) ? 0 : dice.in32(1, 700));
      seq.push_back(contexts.back() + 3);
    }
    Batch batch = make_batch(Ints(n, 3), seq,
                             {ATTNPLAN_SECTION_CHUNKS, ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST});
    const int32_t page = dice.pick<int32_t>({1, 16, 64});
    if (page > 1) give_cache(&batch, 5000, 64, page);
    batch.config.chunk_workspace_tokens = dice.in32(1, 900);
    const bool equal = dice.percent(40);
    if (equal) batch.config.chunk_policy = ATTNPLAN_CHUNKS_EQUAL;
    const Planned planned = plan(batch);
    const int64_t workspace = batch.config.chunk_workspace_tokens;
    if (gathered(contexts, page) > workspace) {
      ASSERT_EQ(planned.code, ATTNPLAN_CODE_CAPACITY_EXCEEDED);
      continue;
    }
    ASSERT_EQ(planned.status, ATTNPLAN_OK);
    check_cut(contexts, page, batch.config, planned);
    const int64_t chunk = planned.section(ATTNPLAN_SECTION_CHUNKS)[1];
    const int64_t longest = *std::max_element(contexts.begin(), contexts.end());
    if (equal || longest == 0) continue;
    EXPECT_LE(chunk, (longest + page - 1) / page * page);
    if (chunk < longest) {
      EXPECT_GT(gathered(contexts, chunk + page), workspace) << "a page more would have fit";
    }
  }
}

TEST(ContextParallel, RanksShareEveryTokenThatARowSees) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const int32_t world = dice.in32(1, 8), interleave = dice.in32(0, 20);
    Ints query, seq;
    Values visible;
    for (int64_t i = dice.in(1, 4); i > 0; --i) {
      query.push_back(dice.in32(1, 9));
      seq.push_back(query.back() + dice.in32(0, 400));
      for (int64_t row = query.back(); row > 0; --row) visible.push_back(seq.back() - row + 1);
    }
    Batch batch = make_batch(query, seq, {ATTNPLAN_SECTION_CONTEXT_PARALLEL});
    batch.config.context_parallel_world = world;
    batch.config.context_parallel_interleave = interleave;
    Values sums(visible.size(), 0);
    for (int32_t rank = 0; rank < world; ++rank) {
      batch.config.context_parallel_rank = rank;
      const Values bounds = plan(batch).section(ATTNPLAN_SECTION_CONTEXT_PARALLEL);
      ASSERT_EQ(bounds.size(), visible.size());
      for (size_t row = 0; row < bounds.size(); ++row) sums[row] += bounds[row];
    }
    ASSERT_EQ(sums, visible);
  }
}

TEST(Local, PiecesStayInsideTheirChunkAndTheCapacity) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Ints query, seq;
    for (int64_t i = dice.in(0, 8); i > 0; --i) {
      query.push_back(dice.percent(20) ? 0 : dice.in32(1, 60));
      seq.push_back(query.back() + dice.in32(0, 90));
    }
    Batch batch = make_batch(query, seq, {ATTNPLAN_SECTION_LOCAL});
    const int32_t chunk = dice.in32(1, 40);
    batch.config.local_attention_chunk = chunk;
    batch.config.section_layout = ATTNPLAN_SECTIONS_FIXED;
    batch.config.max_num_seqs = static_cast<int32_t>(query.size()) + dice.in32(1, 2);
    batch.config.max_num_batched_tokens = static_cast<int32_t>(num_rows(batch)) + dice.in32(1, 9);
    batch.config.max_model_len = 1000;
    const Planned planned = plan(batch);
    ASSERT_EQ(planned.status, ATTNPLAN_OK);
    const int64_t max_tokens = batch.config.max_num_batched_tokens;
    const int64_t capacity = std::min<int64_t>(
        2 * batch.config.max_num_seqs + (max_tokens + chunk - 1) / chunk, max_tokens);
    EXPECT_EQ(property::section_of(planned.plan, ATTNPLAN_SECTION_LOCAL).capacity, capacity);
    const Values pieces = planned.section(ATTNPLAN_SECTION_LOCAL);
    Values rows(query.size(), 0);
    for (size_t at = 0; at < pieces.size(); at += 4) {
      const int64_t query_len = pieces[at], seq_len = pieces[at + 1];
      ASSERT_GE(query_len, 1);
      ASSERT_LE(seq_len, chunk);
      ASSERT_LE(query_len, seq_len);
      const size_t request = static_cast<size_t>(pieces[at + 2]);
      const int64_t first = seq[request] - query[request] + rows[request];
      ASSERT_EQ(pieces[at + 3], first / chunk * chunk) << "in tokens without a cache";
      ASSERT_EQ(first % chunk + query_len, seq_len);
      rows[request] += query_len;
    }
    ASSERT_EQ(rows, Values(query.begin(), query.end()));
  }
}

Batch one_kernel(const Ints& query, const Ints& seq) {
  Batch batch = make_batch(query, seq, {ATTNPLAN_SECTION_LAUNCH});
  batch.profile = "test";
  Contract kernel;
  kernel.name = "e";
  kernel.graph = ATTNPLAN_CAPTURE_ALWAYS;
  batch.kernels = std::vector<Contract>{kernel};
  batch.config.num_q_heads = 12;
  batch.config.num_kv_heads = 4;
  return batch;
}

TEST(Launch, TilesPackRowsAndHeads) {
  const Batch batch = one_kernel({30, 0, 50}, {30, 0, 59});
  const BatchStructs structs(batch);
  attnplan_config config = structs.config();
  attnplan_contract kernel = *config.contracts[0];
  const attnplan_contract* const kernels[] = {&kernel};
  config.contracts = kernels;
  config.v_head_size = 64;
  const auto launch = [&] {
    return plan_structs(config, structs.step(), nullptr).section(ATTNPLAN_SECTION_LAUNCH);
  };
  // 90 and 150 packed rows in tiles of 64, which is the default.
  EXPECT_EQ(launch(), (Values{0, 2 + 3, 0, 59, 3, 80, 0}));
  kernel.query_tile = 8;
  kernel.num_splits = 5;
  EXPECT_EQ(launch(), (Values{0, 12 + 19, 5, 59, 3, 80, 5 * 80 * 12 * 65 * 4}));
}

TEST(Launch, GraphsTakeTheirLengthFromTheConfiguration) {
  Batch batch = one_kernel({1, 1}, {7, 20});
  batch.config.max_model_len = 4096;
  batch.config.max_num_seqs = 4;
  batch.config.max_num_batched_tokens = 16;
  EXPECT_EQ(plan(batch).section(ATTNPLAN_SECTION_LAUNCH)[3], 20);
  batch.graph_full = {4, 8};
  const Planned planned = plan(batch);
  ASSERT_EQ(planned.status, ATTNPLAN_OK);
  EXPECT_EQ(planned.section(ATTNPLAN_SECTION_LAUNCH)[3], 4096);
}

}  // namespace
}  // namespace attnplan::sections_test
