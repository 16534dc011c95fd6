// Faults an engine may really make, one a batch. Huge lengths are only made where they are an
// error, since a legal one would ask for gigabytes of sections.
#include <algorithm>

#include "generate.h"

namespace attnplan::property {
namespace {

using oracle::Ints;

int32_t* any_entry(Dice* dice, Ints* values) {
  return &(*values)[static_cast<size_t>(dice->in(0, static_cast<int64_t>(values->size()) - 1))];
}

void break_array(Dice* dice, Batch* batch) {
  std::vector<Ints*> arrays = {&batch->query};
  for (auto* column : {&batch->seq_lens, &batch->num_computed_tokens, &batch->num_prompt_tokens,
                       &batch->num_known_tokens, &batch->num_draft_tokens}) {
    if (*column) arrays.push_back(&**column);
  }
  Ints* array = dice->pick(arrays);
  if (array->empty()) return;
  int32_t* entry = any_entry(dice, array);
  *entry = dice->pick<int32_t>({-1, INT32_MIN, *entry - 1, *entry + 1, 0});
}

// Two that sum to more than int32, or one that does so with its context.
void break_with_huge(Dice* dice, Batch* batch) {
  if (batch->num_reqs() < 2) return;
  if (batch->num_computed_tokens && dice->percent(50)) {
    *any_entry(dice, &*batch->num_computed_tokens) = INT32_MAX;  // an error where it is live
    for (size_t i = 0; i < batch->num_computed_tokens->size(); ++i) {
      if ((*batch->num_computed_tokens)[i] == INT32_MAX && !batch->as_offsets) {
        batch->query[i] = std::max(batch->query[i], 1);
      }
    }
    return;
  }
  if (batch->as_offsets) return;
  batch->query.front() = 1'500'000'000;
  batch->query.back() = 1'500'000'000;
}

void break_counts(Dice* dice, Batch* batch) {
  attnplan_step* step = &batch->step;
  int32_t* counts[] = {&step->num_tokens, &step->max_query_len, &step->num_reqs_padded,
                       &step->num_tokens_padded};
  *counts[dice->in(0, 3)] = dice->pick<int32_t>({-1, 1, 2, 5, INT32_MAX});
}

void break_table(Dice* dice, Batch* batch) {
  if (!batch->table || !batch->table->ids || batch->table->ids->empty()) return;
  if (batch->table->indptr && dice->percent(30)) {
    Ints* indptr = &*batch->table->indptr;
    indptr->back() = dice->in32(0, indptr->back());
    if (dice->percent(20)) indptr->front() = -1;
    return;
  }
  *any_entry(dice, &*batch->table->ids) =
      dice->pick<int32_t>({-1, INT32_MAX, batch->kv_cache->num_blocks});
}

void break_config(Dice* dice, Batch* batch) {
  attnplan_config* config = &batch->config;
  switch (dice->in(0, 5)) {
    case 0:
      config->decode_threshold = -1;
      break;
    case 1:
      config->num_q_heads = 3;
      config->num_kv_heads = 2;
      break;
    case 2:
      if (batch->kv_cache) batch->kv_cache->num_blocks = dice->in32(-1, 0);
      break;
    case 3:
      if (batch->kv_cache) batch->kv_cache->block_size = dice->in32(-1, 0);
      break;
    case 4:
      if (batch->kv_cache) batch->kv_cache->k_pages = 1;
      break;
    default:
      config->max_model_len = -5;
      break;
  }
}

}  // namespace

void break_something(Dice* dice, Batch* batch) {
  switch (dice->in(0, 9)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      break_array(dice, batch);
      break;
    case 5:
      break_with_huge(dice, batch);
      break;
    case 6:
    case 7:
      break_counts(dice, batch);
      break;
    case 8:
      break_table(dice, batch);
      break;
    default:
      break_config(dice, batch);
      break;
  }
}

}  // namespace attnplan::property
