// The checks of the planning page, section 2, behind the ranges and in table order.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

MaybeError check_causal(const NaiveSetup& setup, const NaiveStep& step) {
  if (setup.mask != ATTNPLAN_MASK_CAUSAL) return std::nullopt;
  for (const NaiveRequest& request : step.requests) {
    if (request.live() && request.seq < request.query) {
      return plan_error(ATTNPLAN_CODE_SEQ_SHORTER_THAN_QUERY, request.input, request.seq,
                        request.query);
    }
  }
  return std::nullopt;
}

MaybeError check_sums(const NaiveStep& step) {
  if (!step.all_lengths_exact()) return std::nullopt;
  for (const NaiveRequest& request : step.requests) {
    if (!request.live() || !request.computed) continue;
    const int64_t end = *request.computed + request.query;
    if (end != request.seq) {
      return plan_error(ATTNPLAN_CODE_SEQ_MISMATCH, request.input, request.seq, end);
    }
  }
  return std::nullopt;
}

// The one length of all live requests, where there is one.
std::optional<int64_t> shared_query_len(const NaiveStep& step) {
  std::optional<int64_t> shared;
  for (const NaiveRequest& request : step.requests) {
    if (!request.live()) continue;
    if (shared && *shared != request.query) return std::nullopt;
    shared = request.query;
  }
  return shared;
}

MaybeError check_row_count(const NaiveStep& step) {
  const auto mismatch = [](int64_t value, int64_t limit) {
    return plan_error(ATTNPLAN_CODE_ROW_COUNT_MISMATCH, -1, value, limit);
  };
  if (step.num_tokens > 0 && step.num_tokens != step.num_rows()) {
    return mismatch(step.num_tokens, step.num_rows());
  }
  if (!step.dummies() || step.num_tokens_padded == 0) return std::nullopt;
  if (step.graph_allow != ATTNPLAN_GRAPH_ALLOW_FULL) return std::nullopt;
  const std::optional<int64_t> length = shared_query_len(step);
  if (!length) return std::nullopt;
  const int64_t reqs =
      step.num_reqs_padded > 0 ? step.num_reqs_padded : static_cast<int64_t>(step.requests.size());
  if (step.num_tokens_padded == reqs * *length) return std::nullopt;
  return mismatch(step.num_tokens_padded, reqs * *length);
}

MaybeError check_declared_bound(const NaiveStep& step) {
  const int64_t declared = step.max_query_len;
  if (declared == 0) return std::nullopt;
  int64_t verify_rows = 0, verify_count = 0;
  for (const NaiveRequest& request : step.requests) {
    if (!request.exact_query) {
      verify_rows += request.query;
      ++verify_count;
    } else if (request.query > declared) {
      return plan_error(ATTNPLAN_CODE_QUERY_LEN_BOUND_TOO_SMALL, request.input, request.query,
                        declared);
    }
  }
  if (declared * verify_count < verify_rows) {
    return plan_error(ATTNPLAN_CODE_QUERY_LEN_BOUND_TOO_SMALL, -1, verify_rows,
                      declared * verify_count);
  }
  return std::nullopt;
}

MaybeError check_drafts(const NaiveStep& step) {
  if (step.phase != ATTNPLAN_PHASE_TARGET || !step.all_lengths_exact()) return std::nullopt;
  for (const NaiveRequest& request : step.requests) {
    const int64_t drafts = request.draft.value_or(0);
    if (!request.live() || drafts == 0) continue;
    const int64_t computed = request.context;
    const int64_t known =
        request.known ? *request.known : std::max(request.prompt.value_or(0), computed + 1);
    const int64_t expected = known - computed + drafts;
    if (request.query != expected) {
      return plan_error(ATTNPLAN_CODE_QUERY_DRAFT_MISMATCH, request.input, request.query, expected);
    }
  }
  return std::nullopt;
}

struct BlockRow {
  int64_t columns = 0;
  const int32_t* ids = nullptr;  // null: only the width is known
};

// What the table holds for one request; absent where there is no table.
std::optional<BlockRow> block_row(const attnplan_group* group, int64_t request) {
  if (group == nullptr) return std::nullopt;
  if (group->block_indptr != nullptr) {
    const int32_t begin = group->block_indptr[request];
    return BlockRow{int64_t{group->block_indptr[request + 1]} - begin,
                    group->block_ids == nullptr ? nullptr : group->block_ids + begin};
  }
  if (group->columns == 0) return std::nullopt;
  const int64_t stride = group->row_stride > 0 ? group->row_stride : group->columns;
  return BlockRow{group->columns,
                  group->block_ids == nullptr ? nullptr : group->block_ids + request * stride};
}

// The only length of block_ids that a caller gives is the last entry: no entry may pass it.
bool broken_index_list(const NaiveStep& step, const attnplan_group* group) {
  if (group == nullptr || group->block_indptr == nullptr) return false;
  const int32_t* indptr = group->block_indptr;
  if (indptr[0] < 0) return true;
  for (size_t i = 0; i < step.requests.size(); ++i) {
    if (indptr[i + 1] < indptr[i]) return true;
  }
  return false;
}

int64_t blocks_of(int64_t seq, int64_t block_size) { return (seq + block_size - 1) / block_size; }

MaybeError check_widths(int64_t block_size, const attnplan_group* group, NaiveStep* step,
                        std::vector<NaiveWarning>* warnings) {
  for (NaiveRequest& request : step->requests) {
    const std::optional<BlockRow> row = block_row(group, request.input);
    if (!request.live() || !row) continue;
    const int64_t needed = blocks_of(request.seq, block_size);
    if (needed <= row->columns) continue;
    if (step->phase != ATTNPLAN_PHASE_DRAFT) {
      return plan_error(ATTNPLAN_CODE_BLOCK_TABLE_TOO_NARROW, request.input, needed, row->columns);
    }
    const int64_t limit = row->columns * block_size;
    warnings->push_back({ATTNPLAN_CODE_SEQ_LEN_CLAMPED, request.input, request.seq, limit});
    request.clamp = limit;
    request.seq = limit;
  }
  return std::nullopt;
}

MaybeError check_ids(const attnplan_kv_cache& kv, const attnplan_group* group,
                     const NaiveStep& step) {
  if (group == nullptr || (group->flags & ATTNPLAN_GROUP_SKIP_ID_CHECK) != 0) return std::nullopt;
  for (const NaiveRequest& request : step.requests) {
    const std::optional<BlockRow> row = block_row(group, request.input);
    if (!request.live() || !row || row->ids == nullptr) continue;
    for (int64_t b = 0; b < blocks_of(request.seq, kv.block_size); ++b) {
      if (row->ids[b] < 0 || row->ids[b] >= kv.num_blocks) {
        return plan_error(ATTNPLAN_CODE_PAGE_OUT_OF_RANGE, request.input, row->ids[b],
                          kv.num_blocks);
      }
    }
  }
  return std::nullopt;
}

// A slot names a token of the cache, unless it is negative: then its row has none. So has a row at
// or behind the clamp of a draft step.
MaybeError check_slots(const attnplan_kv_cache& kv, const attnplan_group* group,
                       const NaiveStep& step) {
  if (group == nullptr || group->slot_mapping == nullptr) return std::nullopt;
  if ((group->flags & ATTNPLAN_GROUP_SKIP_ID_CHECK) != 0) return std::nullopt;
  const int64_t tokens = int64_t{kv.num_blocks} * kv.block_size;
  int64_t at = 0;
  for (const NaiveRequest& request : step.requests) {
    for (int64_t row = 0; row < request.query; ++row, ++at) {
      const bool wide = (group->flags & ATTNPLAN_GROUP_SLOTS_INT64) != 0;
      const int64_t slot = wide ? static_cast<const int64_t*>(group->slot_mapping)[at]
                                : static_cast<const int32_t*>(group->slot_mapping)[at];
      if (request.clamp && request.context + row >= *request.clamp) continue;
      if (slot >= tokens) {
        return plan_error(ATTNPLAN_CODE_PAGE_OUT_OF_RANGE, request.input, slot, tokens);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

MaybeError validate_lengths(const NaiveSetup& setup, const NaiveStep& step) {
  if (MaybeError error = check_causal(setup, step)) return error;
  if (MaybeError error = check_sums(step)) return error;
  if (MaybeError error = check_row_count(step)) return error;
  if (MaybeError error = check_declared_bound(step)) return error;
  return check_drafts(step);
}

MaybeError validate_blocks(const NaiveSetup& setup, const attnplan_group* group, NaiveStep* step,
                           std::vector<NaiveWarning>* warnings) {
  if (!setup.cache) return std::nullopt;
  if (broken_index_list(*step, group)) return call_error(ATTNPLAN_INVALID_ARGUMENT);
  const attnplan_kv_cache& kv = setup.cache->given;
  if (MaybeError error = check_widths(kv.block_size, group, step, warnings)) return error;
  if (MaybeError error = check_ids(kv, group, *step)) return error;
  return check_slots(kv, group, *step);
}

MaybeError validate_capacity(const NaiveSetup& setup, const NaiveStep& step) {
  const auto exceeded = [](int64_t request, int64_t value, int64_t limit) {
    return plan_error(ATTNPLAN_CODE_CAPACITY_EXCEEDED, request, value, limit);
  };
  int64_t live = 0;
  for (const NaiveRequest& request : step.requests) {
    if (!request.live()) continue;
    ++live;
    if (setup.max_model_len > 0 && request.exact_seq && request.seq > setup.max_model_len) {
      return exceeded(request.input, request.seq, setup.max_model_len);
    }
  }
  if (setup.max_num_seqs > 0 && live > setup.max_num_seqs) {
    return exceeded(-1, live, setup.max_num_seqs);
  }
  const int64_t rows = step.num_rows();
  if (setup.max_num_batched_tokens > 0 && rows > setup.max_num_batched_tokens) {
    return exceeded(-1, rows, setup.max_num_batched_tokens);
  }
  return std::nullopt;
}

}  // namespace attnplan::oracle
