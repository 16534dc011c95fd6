#include "everything.h"

#include <algorithm>
#include <cstring>

namespace attnplan::plan {
namespace {

void random_sections(Dice* dice, Batch* batch) {
  attnplan_config* config = &batch->config;
  const bool all = dice->percent(10);
  config->sections = 0;
  for (int32_t id = kFirstSection; id <= kLastSection; ++id) {
    if (all || dice->percent(35)) config->sections |= uint64_t{1} << id;
  }
  const auto drop = [config](int32_t id) { config->sections &= ~(uint64_t{1} << id); };
  for (int32_t id = ATTNPLAN_SECTION_PAGE_INDPTR; id <= ATTNPLAN_SECTION_SLOTS; ++id) {
    if (!batch->kv_cache) drop(id);
  }
  config->chunk_policy = dice->in32(ATTNPLAN_CHUNKS_FILL, ATTNPLAN_CHUNKS_EQUAL);
  if (dice->percent(50)) config->chunk_workspace_tokens = dice->pick<int32_t>({4096, 20000, 5000});
  config->local_attention_chunk = dice->pick<int32_t>({0, 1, 6, 64});
  if (batch->kv_cache) config->local_attention_chunk *= batch->kv_cache->block_size;
  if (config->local_attention_chunk == 0) drop(ATTNPLAN_SECTION_LOCAL);
  if (dice->percent(40)) {
    config->context_parallel_world = dice->in32(1, 4);
    config->context_parallel_rank = dice->in32(0, config->context_parallel_world - 1);
    config->context_parallel_interleave = dice->pick<int32_t>({1, 16});
  }
  config->section_layout = dice->in32(ATTNPLAN_SECTIONS_AUTO, ATTNPLAN_SECTIONS_COMPACT);
}

void random_graphs(Dice* dice, Batch* batch) {
  if (dice->percent(60)) return;
  if (dice->percent(20)) batch->config.flags |= ATTNPLAN_CONFIG_GRAPH;
  for (auto* sizes : {&batch->graph_full, &batch->graph_piecewise}) {
    if (dice->percent(25)) continue;
    for (int32_t i = dice->in32(1, 6); i > 0; --i) sizes->push_back(dice->in32(1, 300));
    std::sort(sizes->begin(), sizes->end());
    sizes->erase(std::unique(sizes->begin(), sizes->end()), sizes->end());
  }
  if (dice->percent(30)) batch->config.graph_width = dice->in32(1, 6);
}

void random_work(Dice* dice, Batch* batch) {
  attnplan_config* config = &batch->config;
  if (dice->percent(50)) return;
  config->work = dice->in32(ATTNPLAN_WORK_AUTO, ATTNPLAN_WORK_FIXED);
  config->num_workers = dice->pick<int32_t>({0, 1, 7, 64, 304});
  if (config->work == ATTNPLAN_WORK_FIXED) {
    config->work_fixed_tokens = dice->pick<int32_t>({128, 256, 1024});
  }
}

// Without limits there is no layout that holds every batch.
bool wants_fixed_layout(const Batch& batch) {
  if (batch.config.section_layout != ATTNPLAN_SECTIONS_AUTO) {
    return batch.config.section_layout == ATTNPLAN_SECTIONS_FIXED;
  }
  return !batch.graph_full.empty() || !batch.graph_piecewise.empty();
}

}  // namespace

Batch random_planner(Dice* dice) {
  Batch batch;
  property::generate_model(dice, &batch);
  property::generate_backend(dice, &batch);
  property::generate_cache(dice, &batch);
  random_sections(dice, &batch);
  random_graphs(dice, &batch);
  random_work(dice, &batch);
  if (dice->percent(20)) batch.config.ragged = ATTNPLAN_RAGGED_AUTO;
  if (wants_fixed_layout(batch) || dice->percent(30)) set_limits(dice, &batch);
  return batch;
}

void set_limits(Dice* dice, Batch* batch) {
  batch->config.max_num_seqs = dice->in32(4, 90);
  batch->config.max_num_batched_tokens = dice->in32(30, 1500);
  batch->config.max_model_len = dice->pick<int32_t>({320, 1000, 3000, 9000});
}

void random_step(Dice* dice, Batch* batch) {
  Batch step;  // everything that belongs to a step starts anew
  step.name = batch->name;
  step.profile = batch->profile;
  step.kernels = batch->kernels;
  step.arch = batch->arch;
  step.kv_cache = batch->kv_cache;
  step.config = batch->config;
  step.graph_full = batch->graph_full;
  step.graph_piecewise = batch->graph_piecewise;
  property::generate_requests(dice, &step);
  step.config = batch->config;  // generate_requests() sets limits of its own
  property::generate_table(dice, &step);
  if (dice->percent(20)) {
    step.step.graph_allow = dice->in32(ATTNPLAN_GRAPH_ALLOW_FULL, ATTNPLAN_GRAPH_ALLOW_NONE);
  }
  *batch = step;
}

Batch random_batch(uint64_t seed) {
  Dice dice(seed);
  Batch batch = random_planner(&dice);
  batch.name = "seed " + std::to_string(seed);
  for (int tries = 0; tries < 20; ++tries) {
    random_step(&dice, &batch);
    const bool limited = batch.config.max_num_seqs > 0;
    if (live_tokens(batch) < 60000 && (!limited || within_limits(batch))) break;
  }
  return batch;
}

int64_t rows_of(const Batch& batch) {
  if (batch.as_offsets) return batch.query.back();
  int64_t rows = 0;
  for (int32_t length : batch.query) rows += length;
  return rows;
}

int64_t live_tokens(const Batch& batch) {
  int64_t tokens = 0;
  for (size_t i = 0; i < static_cast<size_t>(batch.num_reqs()); ++i) {
    const int32_t query = batch.as_offsets ? batch.query[i + 1] - batch.query[i] : batch.query[i];
    if (query == 0) continue;
    tokens += batch.seq_lens ? (*batch.seq_lens)[i] : (*batch.num_computed_tokens)[i] + query;
  }
  return tokens;
}

bool within_limits(const Batch& batch) {
  if (batch.num_reqs() > batch.config.max_num_seqs) return false;
  if (rows_of(batch) > batch.config.max_num_batched_tokens) return false;
  for (size_t i = 0; i < static_cast<size_t>(batch.num_reqs()); ++i) {
    const int32_t query = batch.as_offsets ? batch.query[i + 1] - batch.query[i] : batch.query[i];
    if (query == 0) continue;
    const int32_t seq =
        batch.seq_lens ? (*batch.seq_lens)[i] : (*batch.num_computed_tokens)[i] + query;
    const int32_t computed =
        batch.num_computed_tokens ? (*batch.num_computed_tokens)[i] + query : 0;
    if (std::max(seq, computed) > batch.config.max_model_len) return false;
  }
  return true;
}

std::vector<attnplan_section> sections_of(const Buffer& plan) {
  const attnplan_plan_header& header = property::header_of(plan);
  std::vector<attnplan_section> table(static_cast<size_t>(header.num_sections));
  if (!table.empty()) {
    std::memcpy(table.data(), plan.data() + header.header_bytes,
                table.size() * sizeof(attnplan_section));
  }
  return table;
}

std::vector<attnplan_byte_range> byte_ranges(const Buffer& plan) {
  const attnplan_plan_header& header = property::header_of(plan);
  std::vector<attnplan_byte_range> ranges(static_cast<size_t>(header.num_byte_ranges));
  if (!ranges.empty()) {
    std::memcpy(ranges.data(),
                plan.data() + header.header_bytes +
                    static_cast<size_t>(header.num_sections) * sizeof(attnplan_section),
                ranges.size() * sizeof(attnplan_byte_range));
  }
  return ranges;
}

Subject::Subject(uint64_t seed, size_t most_bytes) : batch(random_batch(seed)), structs(batch) {
  Error error;
  planner = property::create_planner(structs.config(), &error);
  scratch = property::create_scratch();
  if (!planner) return;
  size_t bytes = 0;
  if (attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), structs.group(), &bytes,
                         nullptr) == ATTNPLAN_OK &&
      bytes <= most_bytes) {
    plan = property::build(planner.get(), scratch.get(), structs.step(), structs.group(), &error);
  }
}

attnplan_status Subject::verify(const Buffer& blob, attnplan_error* error) const {
  return attnplan_plan_verify(blob.data(), blob.size(), nullptr, nullptr, nullptr, nullptr, error);
}

attnplan_status Subject::verify_planner(const Buffer& blob, attnplan_error* error) const {
  return attnplan_plan_verify(blob.data(), blob.size(), planner.get(), nullptr, nullptr, nullptr,
                              error);
}

attnplan_status Subject::verify_step(const Buffer& blob, attnplan_error* error) const {
  return attnplan_plan_verify(blob.data(), blob.size(), planner.get(), scratch.get(),
                              &structs.step(), structs.group(), error);
}

}  // namespace attnplan::plan
