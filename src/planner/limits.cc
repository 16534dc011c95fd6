#include "planner/limits.h"

namespace attnplan {
namespace {

// The lowest request of the step whose exact length passes the limit; -1 where there is none.
int32_t first_too_long(const Lanes& lanes, int32_t max_model_len, int32_t* seq_len) {
  int32_t first = -1;
  for (int32_t i = 0; i < lanes.n; ++i) {
    if (lanes.query_lens[i] == 0 || lanes.seq_lens[i] <= max_model_len) continue;
    if (lanes.inexact != nullptr && (lanes.inexact[i] & kSeqInexact) != 0) continue;
    const int32_t request = lanes.input_request(i);
    if (first >= 0 && request > first) continue;
    first = request;
    *seq_len = lanes.seq_lens[i];
  }
  return first;
}

Status exceeded(Error* error, int32_t request, int64_t value, int64_t limit, const char* what,
                const char* which) {
  return error->set(Status::kPlanError, Code::kCapacityExceeded, request, value, limit,
                    "%s is %lld, beyond %s %lld", what, static_cast<long long>(value), which,
                    static_cast<long long>(limit));
}

}  // namespace

Status check_limits(const Limits& limits, const Lanes& lanes,
                    const std::pmr::vector<RoutedSegment>& segments, Error* error) {
  int32_t longest = 0;
  int64_t live = 0;
  for (const RoutedSegment& segment : segments) {
    longest = segment.facts.max_seq_len > longest ? segment.facts.max_seq_len : longest;
    live += segment.facts.num_live;
  }
  if (limits.max_model_len > 0 && longest > limits.max_model_len) {
    int32_t seq_len = 0;
    const int32_t request = first_too_long(lanes, limits.max_model_len, &seq_len);
    if (request >= 0) {
      return exceeded(error, request, seq_len, limits.max_model_len, "the seq_len of a request",
                      "max_model_len");
    }
  }
  if (limits.max_num_seqs > 0 && live > limits.max_num_seqs) {
    return exceeded(error, -1, live, limits.max_num_seqs, "the number of live requests",
                    "max_num_seqs");
  }
  if (limits.max_num_batched_tokens > 0 && lanes.rows > limits.max_num_batched_tokens) {
    return exceeded(error, -1, lanes.rows, limits.max_num_batched_tokens, "the number of rows",
                    "max_num_batched_tokens");
  }
  return Status::kOk;
}

}  // namespace attnplan
