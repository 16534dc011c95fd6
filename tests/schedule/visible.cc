#include "visible.h"

#include <algorithm>

namespace attnplan::schedule {
namespace {

bool is_dummy(const WorkBatch& batch) {
  return batch.phase == ATTNPLAN_PHASE_CAPTURE || batch.phase == ATTNPLAN_PHASE_IDLE;
}

int64_t context_of(const WorkBatch& batch, size_t i) {
  return std::max<int64_t>(0, int64_t{batch.seq[i]} - batch.query[i]);
}

// Neither a prompt from its start nor the rest of one: such a request may hold drafts.
bool may_hold_drafts(const WorkBatch& batch, size_t i) {
  const bool prefilling = !batch.is_prefilling.empty() && batch.is_prefilling[i] != 0;
  return batch.query[i] > 0 && context_of(batch, i) > 0 && !prefilling && !is_dummy(batch);
}

bool seq_is_exact(const WorkBatch& batch, size_t i) {
  if (is_dummy(batch)) return true;
  if (!batch.seq_len_exact.empty()) return batch.seq_len_exact[i] != 0;
  return (batch.flags & ATTNPLAN_STEP_SEQ_LENS_INEXACT) == 0 || !may_hold_drafts(batch, i);
}

bool is_verify(const WorkBatch& batch, size_t i) {
  return (batch.flags & ATTNPLAN_STEP_QUERY_LENS_INEXACT) != 0 && may_hold_drafts(batch, i) &&
         batch.query[i] <= batch.threshold();
}

int32_t bound_of_verify_rows(const WorkBatch& batch) {
  int64_t rows = 0, requests = 0;
  for (size_t i = 0; i < batch.query.size(); ++i) {
    if (!is_verify(batch, i)) continue;
    rows += batch.query[i];
    ++requests;
  }
  int64_t bound = std::min<int64_t>(batch.threshold(), rows - requests + 1);
  if (batch.max_query_len > 0) bound = std::min<int64_t>(bound, batch.max_query_len);
  return static_cast<int32_t>(bound);
}

}  // namespace

Visible::Visible(const WorkBatch& batch, std::span<const int32_t> order)
    : requests_(batch.query.size()),
      causal_(batch.settings.mask == ATTNPLAN_MASK_CAUSAL),
      window_(batch.settings.sliding_window) {
  const int32_t bound = bound_of_verify_rows(batch);
  for (size_t position = 0; position < requests_.size(); ++position) {
    const size_t request = order.empty() ? position : static_cast<size_t>(order[position]);
    place(batch, request, bound, &requests_[position]);
  }
}

void Visible::place(const WorkBatch& batch, size_t request, int32_t verify_bound,
                    Request* out) const {
  if (batch.query[request] <= 0) return;
  const bool exact_seq = seq_is_exact(batch, request);
  const int32_t slack = exact_seq ? 0 : batch.threshold() - 1;
  out->context = context_of(batch, request);
  out->low_context = std::max<int64_t>(0, out->context - slack);
  out->seq = batch.seq[request];
  out->rows = batch.query[request];
  out->exact = exact_seq;
  if (is_verify(batch, request)) {
    out->exact = false;
    out->rows = verify_bound;
    out->seq = out->context + verify_bound;
  }
}

Range Visible::of(size_t position, int32_t row) const {
  const Request& request = requests_[position];
  Range range{0, request.seq};
  if (causal_) range.end = std::min(request.seq, request.context + row + 1);
  if (window_ > 0) range.begin = std::max<int64_t>(0, request.low_context + row - window_ + 1);
  return range;
}

int64_t Visible::lowest_end(size_t position, int32_t row) const {
  const Request& request = requests_[position];
  return causal_ ? std::min(request.seq, request.low_context + row + 1) : request.seq;
}

}  // namespace attnplan::schedule
