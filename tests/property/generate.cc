#include "generate.h"

#include <algorithm>

namespace attnplan::property {
namespace {

using oracle::BlockTable;
using oracle::Ints;

int64_t query_len(const Batch& batch, int i) {
  const size_t at = static_cast<size_t>(i);
  return batch.as_offsets ? int64_t{batch.query[at + 1]} - batch.query[at] : batch.query[at];
}

int64_t seq_len(const Batch& batch, int i) {
  const size_t at = static_cast<size_t>(i);
  return batch.seq_lens ? (*batch.seq_lens)[at]
                        : int64_t{(*batch.num_computed_tokens)[at]} + query_len(batch, i);
}

int64_t blocks_needed(const Batch& batch, int i) {
  const int64_t block = batch.kv_cache->block_size;
  return query_len(batch, i) == 0 ? 0 : (seq_len(batch, i) + block - 1) / block;
}

// Ids that are live, then entries that nobody may read.
void append_row(Dice* dice, const Batch& batch, int64_t live, int64_t entries, Ints* ids) {
  for (int64_t b = 0; b < entries; ++b) {
    const bool meaningful = b < live;
    ids->push_back(meaningful ? dice->in32(0, batch.kv_cache->num_blocks - 1)
                              : dice->pick<int32_t>({-1, 0, INT32_MAX, 12345}));
  }
}

BlockTable dense_table(Dice* dice, const Batch& batch, int64_t widest, bool with_ids) {
  BlockTable table;
  table.columns = static_cast<int32_t>(std::min<int64_t>(widest, INT32_MAX - 5));
  if (dice->percent(50)) table.columns += dice->in32(0, 5);
  if (dice->percent(10)) table.columns -= dice->in32(0, 2);
  table.columns = std::max(table.columns, 1);
  if (dice->percent(20)) table.row_stride = table.columns + dice->in32(0, 3);
  if (!with_ids) return table;
  table.ids.emplace();
  const int64_t stride = table.row_stride > 0 ? table.row_stride : table.columns;
  for (int i = 0; i < batch.num_reqs(); ++i) {
    append_row(dice, batch, blocks_needed(batch, i), stride, &*table.ids);
  }
  return table;
}

BlockTable csr_table(Dice* dice, const Batch& batch) {
  BlockTable table;
  table.ids.emplace();
  table.indptr = Ints{0};
  for (int i = 0; i < batch.num_reqs(); ++i) {
    const int64_t live = blocks_needed(batch, i);
    int64_t entries = live + (dice->percent(80) ? 0 : dice->in(0, 3));
    if (dice->percent(3)) entries = std::max<int64_t>(0, entries - dice->in(0, 2));
    append_row(dice, batch, live, entries, &*table.ids);
    table.indptr->push_back(static_cast<int32_t>(table.ids->size()));
  }
  return table;
}

template <typename T>
void reverse(std::optional<std::vector<T>>* values) {
  if (*values) std::reverse((*values)->begin(), (*values)->end());
}

void reverse_dense(int32_t num_reqs, BlockTable* table) {
  if (table->indptr) return;
  const int64_t stride = table->row_stride > 0 ? table->row_stride : table->columns;
  Ints out;
  for (int32_t i = num_reqs - 1; i >= 0; --i) {
    const auto row = table->ids->begin() + i * stride;
    out.insert(out.end(), row, row + stride);
  }
  table->ids = out;
}

void reverse_csr(int32_t num_reqs, BlockTable* table) {
  if (!table->indptr) return;
  Ints ids, indptr = {0};
  for (int32_t i = num_reqs - 1; i >= 0; --i) {
    const size_t at = static_cast<size_t>(i);
    ids.insert(ids.end(), table->ids->begin() + (*table->indptr)[at],
               table->ids->begin() + (*table->indptr)[at + 1]);
    indptr.push_back(static_cast<int32_t>(ids.size()));
  }
  table->ids = ids;
  table->indptr = indptr;
}

}  // namespace

bool has_rows(const BlockTable& table) {
  if (!table.indptr) return table.ids.has_value();
  return table.indptr->front() == 0 && std::is_sorted(table.indptr->begin(), table.indptr->end()) &&
         static_cast<size_t>(table.indptr->back()) <= table.ids->size();
}

void generate_table(Dice* dice, Batch* batch) {
  if (!batch->kv_cache || dice->percent(30)) return;
  int64_t widest = 0, total = 0;
  for (int i = 0; i < batch->num_reqs(); ++i) {
    widest = std::max(widest, blocks_needed(*batch, i));
    total += blocks_needed(*batch, i);
  }
  const bool small = widest * batch->num_reqs() < 4000;
  if (dice->percent(40) && total < 4000) {
    batch->table = csr_table(dice, *batch);
  } else {
    batch->table = dense_table(dice, *batch, widest, small && dice->percent(80));
  }
  if (dice->percent(10)) batch->table->flags |= ATTNPLAN_GROUP_SKIP_ID_CHECK;
}

Batch generate_batch(uint64_t seed) {
  Dice dice(seed);
  Batch batch;
  batch.name = "seed " + std::to_string(seed);
  generate_model(&dice, &batch);
  generate_backend(&dice, &batch);
  generate_cache(&dice, &batch);
  generate_requests(&dice, &batch);
  generate_table(&dice, &batch);
  if (dice.percent(15)) break_something(&dice, &batch);
  return batch;
}

Batch reversed(const Batch& batch) {
  Batch out = batch;
  out.name += ", reversed";
  if (out.as_offsets) {
    out.query.assign(1, 0);
    for (int i = batch.num_reqs() - 1; i >= 0; --i) {
      out.query.push_back(static_cast<int32_t>(out.query.back() + query_len(batch, i)));
    }
  } else {
    std::reverse(out.query.begin(), out.query.end());
  }
  for (auto* column : {&out.seq_lens, &out.num_computed_tokens, &out.num_prompt_tokens,
                       &out.num_known_tokens, &out.num_draft_tokens}) {
    reverse(column);
  }
  reverse(&out.is_prefilling);
  reverse(&out.seq_len_exact);
  if (out.table && has_rows(*out.table)) {
    reverse_dense(batch.num_reqs(), &*out.table);
    reverse_csr(batch.num_reqs(), &*out.table);
  }
  return out;
}

}  // namespace attnplan::property
