#include "subject.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "contract.h"

namespace attnplan::refresh {
namespace {

bool full_width_pads(const Batch& batch, const Buffer& plan) {
  const auto kernels = batch.kernels ? batch.kernels : oracle::builtin_profile(batch.profile);
  if (!kernels) return false;
  const auto segments = property::segments_of(plan);
  for (size_t i = 0; i < kernels->size(); ++i) {
    const oracle::Contract& kernel = (*kernels)[i];
    const bool runs = segments.empty() ? kernel.route == ATTNPLAN_ROUTE_DECODE
                                       : static_cast<int32_t>(i) == segments.front().kernel;
    if (runs && kernel.pads == ATTNPLAN_PADS_FULL_WIDTH) return true;
  }
  return false;
}

std::vector<int64_t> random_slots(const Batch& batch, Dice* dice) {
  std::vector<int64_t> slots;
  if (!batch.kv_cache || !dice->percent(25)) return slots;
  const int64_t tokens = int64_t{batch.kv_cache->num_blocks} * batch.kv_cache->block_size;
  for (int64_t row = 0; row < plan::rows_of(batch); ++row)
    slots.push_back(dice->in(-9, tokens - 1));
  return slots;
}

void copy_table(const Batch& truth, Tensors* out) {
  if (!truth.kv_cache || !truth.table || !truth.table->ids) return;
  out->ids = *truth.table->ids;
  if (truth.table->indptr) {
    out->indptr = *truth.table->indptr;
    return;
  }
  out->columns = truth.table->columns;
  out->stride = truth.table->row_stride > 0 ? truth.table->row_stride : truth.table->columns;
}

// Rows in another order, with one that is nobody's.
void shuffle_rows(size_t n, Dice* dice, Tensors* out) {
  std::vector<int64_t> rows(n + 1);
  std::iota(rows.begin(), rows.end(), 0);
  for (size_t i = n; i > 0; --i) {
    std::swap(rows[i], rows[static_cast<size_t>(dice->in(0, static_cast<int64_t>(i)))]);
  }
  Ints ids(static_cast<size_t>(out->stride) * (n + 1), -7);
  for (size_t i = 0; i < n; ++i) {
    std::copy_n(out->ids.begin() + static_cast<std::ptrdiff_t>(i) * out->stride, out->stride,
                ids.begin() + rows[i] * out->stride);
  }
  out->ids = ids;
  out->table_rows.assign(rows.begin(), rows.end() - 1);
}

// The slot of each token in place of the id of each block.
void name_tokens(const attnplan_kv_cache& cache, Tensors* out) {
  const int64_t size = cache.block_size;
  const size_t rows = out->ids.size() / static_cast<size_t>(out->stride);
  Ints slots;
  for (size_t row = 0; row < rows; ++row) {
    for (int64_t token = 0; token < out->columns * size; ++token) {
      const int64_t id =
          out->ids[row * static_cast<size_t>(out->stride) + static_cast<size_t>(token / size)];
      const bool known = 0 <= id && id < cache.num_blocks;
      slots.push_back(known ? static_cast<int32_t>(id * size + token % size) : -1);
    }
  }
  out->ids = slots;
  out->columns *= size;
  out->stride = out->columns;
  out->tokens = true;
}

bool can_name_tokens(const Batch& batch, const Tensors& tensors) {
  const attnplan_kv_cache& cache = *batch.kv_cache;
  return int64_t{cache.num_blocks} * cache.block_size <= INT32_MAX && tensors.columns > 0 &&
         static_cast<int64_t>(tensors.ids.size()) * cache.block_size < 100'000 &&
         (batch.table->flags & ATTNPLAN_GROUP_SKIP_ID_CHECK) == 0;
}

// Kernels of own contracts disagree about tiles.
void set_tiles(uint64_t seed, size_t index, attnplan_contract* contract) {
  Dice dice(seed * 104729 + index);
  if (seed % 2 == 0) return;
  contract->query_tile = dice.pick<int32_t>({0, 1, 16, 64, 100});
  if (dice.percent(50)) contract->kv_tile = dice.pick<int32_t>({16, 64});
}

// Of the segment whose rows the device splits; null: there is none.
const attnplan_segment* moving_segment(const Buffer& plan) {
  for (const attnplan_segment& s : property::segments_of(plan)) {
    if ((s.flags & ATTNPLAN_SEGMENT_EXACT_QUERY_LENS) == 0) return &s;
  }
  return nullptr;
}

}  // namespace

cpu::DeviceStep Tensors::step() const {
  cpu::DeviceStep out;
  out.query_start_loc = query_start_loc;
  out.seq_lens = seq_lens;
  out.table_rows = table_rows;
  out.slot_mapping = slot_mapping;
  out.stride = stride;
  out.columns = columns;
  if (!indptr.empty()) {
    out.block_indptr = indptr;
    out.block_list = ids;
  } else if (tokens) {
    out.token_slots = ids;
  } else {
    out.block_rows = ids;
  }
  return out;
}

Tensors tensors_of(const Batch& truth, const std::vector<int64_t>& slots, Dice* form) {
  Tensors out;
  out.query_start_loc = {0};
  for (int32_t rows : truth.query) out.query_start_loc.push_back(out.query_start_loc.back() + rows);
  out.seq_lens = *truth.seq_lens;
  out.slot_mapping = slots;
  copy_table(truth, &out);
  if (out.ids.empty() || !out.indptr.empty()) return out;
  if (form->percent(50)) shuffle_rows(truth.query.size(), form, &out);
  if (form->percent(50) && can_name_tokens(truth, out)) name_tokens(*truth.kv_cache, &out);
  return out;
}

namespace {

// A kernel of one width whose graphs have pads of full width, and pads of the batch's own.
void want_full_pads(Dice* dice, Batch* host) {
  const int32_t threshold = std::max(host->config.decode_threshold, 1);
  const int32_t width = dice->in32(1, threshold);
  host->kernels.emplace();
  host->profile = "full pads";
  oracle::Contract decode;
  decode.name = "decode";
  decode.route = ATTNPLAN_ROUTE_DECODE;
  decode.flags = ATTNPLAN_CONTRACT_UNIFORM;
  decode.features = 15;
  decode.masks = 3;
  decode.pads = ATTNPLAN_PADS_FULL_WIDTH;
  host->kernels->push_back(decode);
  host->config.graph_width = width;
  host->graph_full = {dice->in32(60, 400)};
  host->step.graph_allow = ATTNPLAN_GRAPH_ALLOW_FULL;
  if (host->config.max_num_seqs == 0) host->config.section_layout = ATTNPLAN_SECTIONS_COMPACT;
  if (host->as_offsets || !host->seq_lens) return;
  for (size_t i = 0; i < host->query.size(); ++i) {
    const int32_t context = (*host->seq_lens)[i] - host->query[i];
    host->query[i] = i + 3 < host->query.size() ? width : 0;
    (*host->seq_lens)[i] = std::max(context, 1) + host->query[i];
  }
}

// What the generators of plans seldom make.
void bring_out_edges(Dice* dice, Batch* host) {
  const bool dense = host->table && host->table->ids && !host->table->indptr;
  if (host->step.phase == ATTNPLAN_PHASE_DRAFT && dense && dice->percent(60)) {
    oracle::BlockTable& table = *host->table;  // a draft step is cut, to less than its context even
    if (table.row_stride == 0) table.row_stride = table.columns;
    table.columns = dice->in32(1, table.columns);
  }
  if (host->kv_cache && dice->percent(60)) {
    host->config.sections |= uint64_t{1} << ATTNPLAN_SECTION_SLOTS;
  }
  if (dice->percent(25)) {
    for (int32_t id = plan::kFirstSection; id <= plan::kLastSection; ++id) {
      const bool page = ATTNPLAN_SECTION_PAGE_INDPTR <= id && id <= ATTNPLAN_SECTION_SLOTS;
      if (page && !dense) continue;
      if (id == ATTNPLAN_SECTION_LOCAL && host->config.local_attention_chunk == 0) continue;
      host->config.sections |= uint64_t{1} << id;
    }
  }
  if (dice->percent(10)) want_full_pads(dice, host);
  if (dice->percent(10)) {
    host->config.mask = ATTNPLAN_MASK_FULL;  // then there may be fewer keys than queries
    if (host->num_computed_tokens) return;
    for (int32_t& seq_len : *host->seq_lens) {
      if (dice->percent(20)) seq_len = dice->in32(0, std::min(seq_len, 5));
    }
  }
}

}  // namespace

Tensors hostile(Tensors tensors, Dice* dice) {
  const int percent = dice->pick({5, 30, 100});
  for (Ints* values : {&tensors.query_start_loc, &tensors.seq_lens}) {
    for (int32_t& value : *values) {
      if (!dice->percent(percent)) continue;
      const int64_t near = std::min<int64_t>(INT32_MAX, int64_t{value} + dice->in(-9, 300));
      value = dice->pick<int32_t>({0, -1, INT32_MIN, INT32_MAX, static_cast<int32_t>(near),
                                   static_cast<int32_t>(near), dice->in32(-5, 5000)});
    }
  }
  return tensors;
}

namespace {

// Of `count` numbers from 0 the last for the first; what is none of them stays.
template <class T>
void mirror(int64_t count, std::vector<T>* numbers) {
  for (T& number : *numbers) {
    if (0 <= number && number < count) number = static_cast<T>(count - 1 - number);
  }
}

Batch random_host(uint64_t seed) {
  Batch host = plan::random_batch(seed);
  Dice dice(seed ^ 0x4ef4e54);
  if (dice.percent(70)) host.step.flags |= ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  if (dice.percent(20)) host.step.flags |= ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  bring_out_edges(&dice, &host);
  if (host.table && !host.table->ids) host.table.reset();  // the device has ids or no table
  let_lengths_add_up(&host);
  return host;
}

}  // namespace

Subject::Subject(uint64_t seed) : Subject(random_host(seed), seed, size_t{1} << 19) {}

Subject::Subject(const Batch& step, uint64_t seed, size_t most_bytes)
    : host(step), seed_(seed), most_bytes_(most_bytes) {
  Dice dice(seed ^ 0x7a1e);
  const std::optional<Batch> exact = with_true_lengths(host, &dice);
  if (!exact) return;
  truth = *exact;
  slots = random_slots(host, &dice);
  form_ = dice;
  tensors = tensors_of(truth, slots, &dice);
  host_plan = plan_of(host, slots, &view);
  true_plan = plan_of(truth, slots);
}

Outcome Subject::outcome() const { return {truth, tensors, copy_of(true_plan)}; }

Outcome Subject::another(uint64_t seed) const {
  Dice dice(seed_ ^ (seed * 0x5851f42d4c957f2d));
  const std::optional<Batch> exact = with_true_lengths(host, &dice);
  if (!exact) return {Batch(), Tensors(), Buffer()};
  Outcome out{*exact, Tensors(), Buffer()};
  std::vector<int64_t> other_slots = slots;
  if (host.kv_cache) {
    const int64_t blocks = host.kv_cache->num_blocks;
    if (out.truth.table && out.truth.table->ids) mirror(blocks, &*out.truth.table->ids);
    mirror(blocks * host.kv_cache->block_size, &other_slots);
  }
  Dice form = form_;
  out.tensors = tensors_of(out.truth, other_slots, &form);
  out.plan = plan_of(out.truth, other_slots);
  return out;
}

Buffer Subject::plan_of(const Batch& batch, const std::vector<int64_t>& own_slots,
                        std::optional<attnplan_kv_view>* found_view) const {
  const BatchStructs structs(batch);
  property::Error error;
  attnplan_config config = structs.config();
  std::vector<attnplan_contract> contracts;
  std::vector<const attnplan_contract*> pointers;
  for (size_t i = 0; i < config.num_contracts; ++i) {
    contracts.push_back(*config.contracts[i]);
    set_tiles(seed_, i, &contracts.back());
  }
  for (const attnplan_contract& contract : contracts) pointers.push_back(&contract);
  if (config.contracts != nullptr) config.contracts = pointers.data();
  const property::Planner planner = property::create_planner(config, &error);
  if (!planner) return Buffer();
  const property::Scratch scratch = property::create_scratch();
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  if (structs.group() != nullptr) group = *structs.group();
  if (!own_slots.empty()) {
    group.slot_mapping = own_slots.data();
    group.flags |= ATTNPLAN_GROUP_SLOTS_INT64;
  }
  const bool given = structs.group() != nullptr || !own_slots.empty();
  attnplan_kv_view found = ATTNPLAN_KV_VIEW_INIT;
  if (found_view != nullptr &&
      attnplan_planner_kv_view(planner.get(), &found, nullptr) == ATTNPLAN_OK) {
    *found_view = found;
  }
  size_t bytes = 0;
  if (attnplan_plan_size(planner.get(), scratch.get(), &structs.step(), given ? &group : nullptr,
                         &bytes, nullptr) != ATTNPLAN_OK ||
      bytes > most_bytes_) {
    return Buffer();
  }
  return property::build(planner.get(), scratch.get(), structs.step(), given ? &group : nullptr,
                         &error);
}

int32_t Subject::query_tile_of(int32_t kernel) const {
  attnplan_contract contract = ATTNPLAN_CONTRACT_INIT;
  if (host.kernels) set_tiles(seed_, static_cast<size_t>(kernel), &contract);
  return contract.query_tile > 0 ? contract.query_tile : 64;
}

cpu::RefreshRules Subject::rules() const {
  cpu::RefreshRules out;
  const attnplan_config& config = host.config;
  out.causal = config.mask == ATTNPLAN_MASK_CAUSAL;
  out.draft = host.step.phase == ATTNPLAN_PHASE_DRAFT;
  out.full_width_pads = full_width_pads(host, host_plan);
  out.sliding_window = config.sliding_window;
  out.local_chunk = config.local_attention_chunk;
  out.context_world = std::max(config.context_parallel_world, 1);
  out.context_rank = config.context_parallel_rank;
  out.context_interleave = std::max(config.context_parallel_interleave, 1);
  const int32_t kv_heads = std::max(config.num_kv_heads, 1);
  out.group = (config.num_q_heads > 0 ? config.num_q_heads : 16) / kv_heads;
  const attnplan_segment* moving = moving_segment(host_plan);
  if (moving != nullptr) out.query_tile = query_tile_of(moving->kernel);
  if (view) {
    out.block_size = host.kv_cache->block_size;
    out.page_size = view->page_size;
    out.packed = view->packed != 0;
  }
  return out;
}

Buffer copy_of(const Buffer& plan) {
  Buffer out(plan.size());
  if (plan.size() > 0) std::memcpy(out.data(), plan.data(), plan.size());
  return out;
}

std::span<std::byte> bytes_of(Buffer* plan) {
  return {reinterpret_cast<std::byte*>(plan->data()), plan->size()};
}

}  // namespace attnplan::refresh
