#include "shrink.h"

#include <cctype>
#include <vector>

#include "batch_json.h"
#include "generate.h"

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::Contract;

using Change = std::function<void(Batch*)>;

std::string without_digits(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) out.push_back(c);
  }
  return out;
}

template <typename T>
void erase_at(std::optional<std::vector<T>>* values, int i) {
  if (*values) (*values)->erase((*values)->begin() + i);
}

void erase_table_row(int i, oracle::BlockTable* table) {
  if (!has_rows(*table)) return;
  if (table->indptr) {
    oracle::Ints* indptr = &*table->indptr;
    const size_t at = static_cast<size_t>(i);
    const int32_t begin = (*indptr)[at], end = (*indptr)[at + 1];
    table->ids->erase(table->ids->begin() + begin, table->ids->begin() + end);
    indptr->erase(indptr->begin() + i);
    for (size_t j = at; j < indptr->size(); ++j) (*indptr)[j] -= end - begin;
    (*indptr)[0] = 0;
  } else {
    const int64_t stride = table->row_stride > 0 ? table->row_stride : table->columns;
    const auto row = table->ids->begin() + i * stride;
    table->ids->erase(row, row + stride);
  }
}

void erase_request(int i, Batch* batch) {
  batch->query.erase(batch->query.begin() + i);
  erase_at(&batch->seq_lens, i);
  erase_at(&batch->num_computed_tokens, i);
  erase_at(&batch->num_prompt_tokens, i);
  erase_at(&batch->num_known_tokens, i);
  erase_at(&batch->num_draft_tokens, i);
  erase_at(&batch->is_prefilling, i);
  erase_at(&batch->seq_len_exact, i);
  if (batch->table) erase_table_row(i, &*batch->table);
}

void as_lengths(Batch* batch) {
  if (!batch->as_offsets) return;
  for (size_t i = 0; i + 1 < batch->query.size(); ++i) {
    batch->query[i] = static_cast<int32_t>(int64_t{batch->query[i + 1]} - batch->query[i]);
  }
  batch->query.pop_back();
  batch->as_offsets = false;
}

void add_request_changes(const Batch& batch, std::vector<Change>* out) {
  out->push_back(as_lengths);
  if (batch.as_offsets) return;
  const bool broken_index = batch.table && batch.table->indptr && !has_rows(*batch.table);
  for (int i = 0; i < batch.num_reqs(); ++i) {
    if (!broken_index) out->push_back([i](Batch* b) { erase_request(i, b); });
    out->push_back([i](Batch* b) {  // a shorter context
      const size_t at = static_cast<size_t>(i);
      const int32_t cut = b->num_computed_tokens ? (*b->num_computed_tokens)[at] / 2
                          : b->seq_lens          ? ((*b->seq_lens)[at] - b->query[at]) / 2
                                                 : 0;
      if (b->num_computed_tokens) (*b->num_computed_tokens)[at] -= cut;
      if (b->seq_lens) (*b->seq_lens)[at] -= cut;
    });
  }
}

void add_step_changes(std::vector<Change>* out) {
  out->push_back([](Batch* b) { b->num_prompt_tokens.reset(); });
  out->push_back([](Batch* b) { b->num_known_tokens.reset(); });
  out->push_back([](Batch* b) { b->num_draft_tokens.reset(); });
  out->push_back([](Batch* b) { b->is_prefilling.reset(); });
  out->push_back([](Batch* b) { b->seq_len_exact.reset(); });
  out->push_back([](Batch* b) {
    if (b->seq_lens) b->num_computed_tokens.reset();
  });
  out->push_back([](Batch* b) {
    if (b->table) b->table->ids = b->table->indptr ? b->table->ids : std::nullopt;
  });
  out->push_back([](Batch* b) { b->table.reset(); });
  out->push_back([](Batch* b) { b->kv_cache.reset(), b->table.reset(); });
  out->push_back([](Batch* b) { b->step.num_tokens = 0; });
  out->push_back([](Batch* b) { b->step.max_query_len = 0; });
  out->push_back([](Batch* b) { b->step.num_reqs_padded = 0; });
  out->push_back([](Batch* b) { b->step.num_tokens_padded = 0; });
  out->push_back([](Batch* b) { b->step.flags = 0; });
  out->push_back([](Batch* b) { b->step.phase = ATTNPLAN_PHASE_TARGET; });
}

void add_config_changes(std::vector<Change>* out) {
  out->push_back([](Batch* b) { b->config.sections = 0; });
  out->push_back([](Batch* b) { b->config.order = ATTNPLAN_ORDER_AS_GIVEN; });
  out->push_back([](Batch* b) { b->config.ragged = ATTNPLAN_RAGGED_DEFAULT; });
  out->push_back([](Batch* b) { b->config.profile_ragged = ATTNPLAN_RAGGED_DEFAULT; });
  out->push_back([](Batch* b) { b->config.max_segments = 0; });
  out->push_back([](Batch* b) { b->config.flags = 0; });
  out->push_back([](Batch* b) { b->config.features = 0; });
  out->push_back([](Batch* b) { b->config.sliding_window = 0; });
  out->push_back([](Batch* b) { b->config.mask = ATTNPLAN_MASK_CAUSAL; });
  out->push_back([](Batch* b) { b->config.max_model_len = 0; });
  out->push_back([](Batch* b) { b->config.max_num_seqs = 0; });
  out->push_back([](Batch* b) { b->config.max_num_batched_tokens = 0; });
  out->push_back([](Batch* b) { b->config.num_q_heads = b->config.num_kv_heads = 0; });
  out->push_back([](Batch* b) { b->config.head_size = b->config.v_head_size = 0; });
  out->push_back([](Batch* b) { b->arch = "gfx950"; });
}

// Each demand of one kernel back to its default.
std::vector<std::function<void(Contract*)>> relaxations() {
  return {[](Contract* c) { c->query_lens.reset(); },
          [](Contract* c) { c->groups.reset(); },
          [](Contract* c) { c->head_sizes.reset(), c->v_head_sizes.reset(); },
          [](Contract* c) { c->block_sizes.reset(); },
          [](Contract* c) { c->page_sizes.reset(); },
          [](Contract* c) { c->archs.reset(); },
          [](Contract* c) { c->flags &= ATTNPLAN_CONTRACT_UNIFORM; },
          [](Contract* c) { c->flags &= ATTNPLAN_CONTRACT_EXACT_SEQ_LENS; },
          [](Contract* c) { c->masks = c->features = c->dtypes = c->layouts = c->scales = 0; },
          [](Contract* c) { c->max_query_len = c->max_query_len_x_group = 0; },
          [](Contract* c) { c->context = 0; },
          [](Contract* c) { c->min_requests = 0; },
          [](Contract* c) { c->max_requests = c->max_seq_len = 0; },
          [](Contract* c) { c->tile_tokens = c->dtype_label = c->pads = c->graph = 0; },
          [](Contract* c) { c->offset_unit = ATTNPLAN_OFFSET_NONE; }};
}

void add_kernel_changes(const Batch& batch, std::vector<Change>* out) {
  if (!batch.kernels) return;
  for (size_t k = 0; k < batch.kernels->size(); ++k) {
    if (batch.kernels->size() > 1) {
      out->push_back([k](Batch* b) {
        b->kernels->erase(b->kernels->begin() + static_cast<std::ptrdiff_t>(k));
      });
    }
    for (const auto& relax : relaxations()) {
      out->push_back([k, relax](Batch* b) { relax(&(*b->kernels)[k]); });
    }
  }
}

// Whether one of the changes keeps the fault and is then made.
bool shrink_once(const std::string& fault, const Check& check, Batch* batch) {
  std::vector<Change> changes;
  add_request_changes(*batch, &changes);
  add_kernel_changes(*batch, &changes);
  add_step_changes(&changes);
  add_config_changes(&changes);
  const std::string before = oracle::batch_to_json(*batch).dump();
  for (const Change& change : changes) {
    Batch smaller = *batch;
    change(&smaller);
    if (oracle::batch_to_json(smaller).dump() == before) continue;
    if (without_digits(check(smaller)) != fault) continue;
    *batch = smaller;
    return true;
  }
  return false;
}

}  // namespace

Batch shrink(Batch batch, const Check& check) {
  const std::string fault = without_digits(check(batch));
  for (int round = 0; round < 2000 && shrink_once(fault, check, &batch); ++round) {
  }
  return batch;
}

}  // namespace attnplan::property
