#include "facts.h"

#include <algorithm>

namespace attnplan::property {
namespace {

using oracle::Batch;

int64_t query_at(const Batch& batch, size_t i) {
  return batch.as_offsets ? int64_t{batch.query[i + 1]} - batch.query[i] : batch.query[i];
}

int64_t table_tokens(const Batch& batch, size_t i) {
  if (!batch.kv_cache || !batch.table) return INT64_MAX;
  const int64_t columns = batch.table->indptr
                              ? (*batch.table->indptr)[i + 1] - (*batch.table->indptr)[i]
                              : batch.table->columns;
  return columns * batch.kv_cache->block_size;
}

}  // namespace

Facts facts_of(const Batch& batch, std::span<const int32_t> order) {
  Facts facts;
  const bool clamps = batch.step.phase == ATTNPLAN_PHASE_DRAFT;
  for (int32_t position = 0; position < batch.num_reqs(); ++position) {
    const size_t at = static_cast<size_t>(position);
    const size_t i = order.empty() ? at : static_cast<size_t>(order[at]);
    const int64_t query = query_at(batch, i);
    const bool computed_given = batch.num_computed_tokens.has_value();
    const int64_t computed = computed_given ? (*batch.num_computed_tokens)[i] : 0;
    const int64_t seq = batch.seq_lens ? (*batch.seq_lens)[i] : computed + query;
    facts.input.push_back(static_cast<int64_t>(i));
    facts.query.push_back(query);
    facts.seq.push_back(clamps ? std::min(seq, table_tokens(batch, i)) : seq);
    facts.context.push_back(computed_given ? computed : std::max<int64_t>(seq - query, 0));
    facts.rows += query;
  }
  return facts;
}

std::string check_plan(const Batch& batch, const attnplan_step& step, const Buffer& plan) {
  std::string broken = check_format(plan);
  if (broken.empty()) broken = check_model(batch, plan);
  if (broken.empty()) broken = check_order(batch, plan);
  if (!broken.empty()) return broken;
  const Facts facts = facts_of(batch, int32_section(plan, ATTNPLAN_SECTION_ORDER));
  broken = check_shape(facts, plan);
  if (broken.empty()) broken = check_figures(facts, plan);
  if (broken.empty()) broken = check_routes(facts, step, plan);
  if (broken.empty()) broken = check_contracts(batch, facts, plan);
  return broken;
}

}  // namespace attnplan::property
