// The batches of the property tests, with more caches and everything that sections depend on.
#include <algorithm>

#include "generate.h"
#include "section_batch.h"

namespace attnplan::sections_test {
namespace {

using property::Dice;

constexpr uint64_t bit(int section) { return uint64_t{1} << section; }

int64_t query_of(const Batch& batch, size_t i) {
  return batch.as_offsets ? int64_t{batch.query[i + 1]} - batch.query[i] : batch.query[i];
}

struct Sizes {
  int64_t longest = 0, total = 0, rows = 0;
};

Sizes sizes_of(const Batch& batch) {
  Sizes out;
  for (size_t i = 0; i < static_cast<size_t>(batch.num_reqs()); ++i) {
    const int64_t seq = batch.seq_lens ? (*batch.seq_lens)[i]
                                       : (*batch.num_computed_tokens)[i] + query_of(batch, i);
    out.longest = std::max(out.longest, seq);
    out.total += seq;
  }
  out.rows = num_rows(batch);
  return out;
}

bool has_ids(const Batch& batch) { return batch.kv_cache && batch.table && batch.table->ids; }

void choose_page_sections(Dice* dice, const Batch& batch, const Sizes& sizes,
                          attnplan_config* config) {
  if (!batch.kv_cache || (!has_ids(batch) && dice->percent(70))) return;
  const attnplan_kv_cache& kv = *batch.kv_cache;
  const int64_t page = kv.page_size > 0 ? kv.page_size : kv.block_size;
  const int64_t n = batch.num_reqs();
  for (int section : {ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_PAGE_INDICES,
                      ATTNPLAN_SECTION_LAST_PAGE_LEN}) {
    const bool small = sizes.total / page < 20'000;
    if (small && dice->percent(50)) config->sections |= bit(section);
  }
  if (sizes.longest / page * n < 40'000 && dice->percent(60)) {
    config->sections |= bit(ATTNPLAN_SECTION_PAGE_TABLE);
  }
  if (dice->percent(50)) config->sections |= bit(ATTNPLAN_SECTION_SLOTS);
}

void choose_sections(Dice* dice, const Batch& batch, const Sizes& sizes, attnplan_config* config) {
  config->sections = 0;
  for (int section :
       {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_CONTEXT_LENS,
        ATTNPLAN_SECTION_ROW_REQUEST, ATTNPLAN_SECTION_ROW_POSITION, ATTNPLAN_SECTION_CHUNKS,
        ATTNPLAN_SECTION_WINDOW, ATTNPLAN_SECTION_CONTEXT_PARALLEL, ATTNPLAN_SECTION_LAUNCH}) {
    if (dice->percent(40)) config->sections |= bit(section);
  }
  if (sizes.total < 50'000 && dice->percent(30)) {
    config->sections |= bit(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST) | bit(ATTNPLAN_SECTION_CHUNKS);
  }
  if (config->local_attention_chunk > 0 && dice->percent(80)) {
    config->sections |= bit(ATTNPLAN_SECTION_LOCAL);
  }
  choose_page_sections(dice, batch, sizes, config);
}

void choose_parameters(Dice* dice, const Sizes& sizes, int32_t num_reqs, int32_t block_size,
                       attnplan_config* config) {
  if (dice->percent(40)) config->chunk_policy = ATTNPLAN_CHUNKS_EQUAL;
  if (dice->percent(80)) {
    // Small enough to need several chunks, large enough to need no more than some hundred.
    const int64_t least = sizes.longest * num_reqs / 200;
    config->chunk_workspace_tokens = static_cast<int32_t>(std::min<int64_t>(
        INT32_MAX, least + dice->pick<int64_t>({1, 16, 64, 300, 4096, sizes.total + 1})));
  }
  if (dice->percent(60)) {
    config->context_parallel_world = dice->in32(1, 9);
    config->context_parallel_rank = dice->in32(0, config->context_parallel_world - 1);
    config->context_parallel_interleave = dice->pick<int32_t>({0, 1, 2, 3, 4, 16, 64, 1000});
  }
  if (dice->percent(50)) {
    config->local_attention_chunk = dice->pick<int32_t>({1, 2, 7, 16, 100, 128, 8192});
    // Mostly a multiple of the block, as an index of a table needs it.
    if (block_size > 0 && dice->percent(95)) {
      config->local_attention_chunk = block_size * dice->pick<int32_t>({1, 2, 3, 7});
    }
  }
  if (dice->percent(40)) config->sliding_window = dice->pick<int32_t>({1, 2, 16, 100, 4096});
}

// Fixed layouts take their capacities from the limits.
void choose_layout(Dice* dice, const Sizes& sizes, Batch* batch) {
  attnplan_config* config = &batch->config;
  if (dice->percent(50)) return;
  config->section_layout = ATTNPLAN_SECTIONS_COMPACT;
  if (dice->percent(50)) return;
  config->section_layout = ATTNPLAN_SECTIONS_FIXED;
  config->max_num_seqs = batch->num_reqs() + dice->in32(1, 5);
  config->max_num_batched_tokens = static_cast<int32_t>(sizes.rows) + dice->in32(1, 30);
  config->max_model_len = static_cast<int32_t>(sizes.longest) + dice->in32(1, 100);
}

}  // namespace

SectionBatch generate_section_batch(uint64_t seed) {
  Dice dice(seed ^ 0x5ec710);
  SectionBatch out;
  Batch* batch = &out.batch;
  batch->name = "seed " + std::to_string(seed);
  property::generate_model(&dice, batch);
  property::generate_backend(&dice, batch);
  for (int tries = 0; tries < 3 && !batch->kv_cache; ++tries) {
    property::generate_cache(&dice, batch);
  }
  property::generate_requests(&dice, batch);
  for (int tries = 0; tries < 3 && !batch->table; ++tries) property::generate_table(&dice, batch);
  const Sizes sizes = sizes_of(*batch);
  const int32_t block_size = batch->kv_cache ? batch->kv_cache->block_size : 0;
  choose_parameters(&dice, sizes, batch->num_reqs(), block_size, &batch->config);
  choose_layout(&dice, sizes, batch);
  choose_sections(&dice, *batch, sizes, &batch->config);
  out.extras.seed = seed;
  if (batch->kv_cache && dice.percent(40)) {
    const int64_t tokens = int64_t{batch->kv_cache->num_blocks} * batch->kv_cache->block_size;
    out.extras.slots = true;
    out.extras.slots_int64 = tokens > INT32_MAX || dice.percent(50);
    batch->config.sections |= bit(ATTNPLAN_SECTION_SLOTS);
  }
  return out;
}

}  // namespace attnplan::sections_test
