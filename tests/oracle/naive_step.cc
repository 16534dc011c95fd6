// The step as a list of requests: ranges, classes, exactness.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

NaiveError out_of_range(int64_t request, int64_t value, int64_t limit) {
  return plan_error(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE, request, value, limit);
}

MaybeError check_query_start_loc(const attnplan_step& in) {
  if (in.query_start_loc == nullptr) return std::nullopt;
  const int32_t* loc = in.query_start_loc;
  if (loc[0] != 0) return plan_error(ATTNPLAN_CODE_QUERY_START_LOC_INVALID, -1, loc[0], 0);
  for (int32_t i = 0; i < in.num_reqs; ++i) {
    if (loc[i + 1] < loc[i]) {
      return plan_error(ATTNPLAN_CODE_QUERY_START_LOC_INVALID, i, loc[i + 1], loc[i]);
    }
  }
  return std::nullopt;
}

NaiveRequest read_request(const attnplan_step& in, int32_t i) {
  NaiveRequest request;
  request.input = i;
  request.query = in.query_lens != nullptr
                      ? in.query_lens[i]
                      : int64_t{in.query_start_loc[i + 1]} - in.query_start_loc[i];
  if (in.num_computed_tokens != nullptr) request.computed = in.num_computed_tokens[i];
  if (in.num_prompt_tokens != nullptr) request.prompt = in.num_prompt_tokens[i];
  if (in.num_known_tokens != nullptr) request.known = in.num_known_tokens[i];
  if (in.num_draft_tokens != nullptr) request.draft = in.num_draft_tokens[i];
  if (in.is_prefilling != nullptr) request.prefilling = in.is_prefilling[i] != 0;
  if (in.seq_len_exact != nullptr) request.seq_exact_given = in.seq_len_exact[i] != 0;
  request.seq = in.seq_lens != nullptr ? in.seq_lens[i] : *request.computed + request.query;
  request.context =
      request.computed ? *request.computed : std::max<int64_t>(0, request.seq - request.query);
  return request;
}

// One request's own figures, in the order of the step's arrays, then its sums.
MaybeError check_request(const attnplan_step& in, const NaiveRequest& request,
                         int64_t rows_so_far) {
  const int32_t i = request.input;
  if (request.query < 0) return out_of_range(i, request.query, 0);
  if (in.seq_lens != nullptr && request.seq < 0) return out_of_range(i, request.seq, 0);
  for (const auto& figure : {request.computed, request.prompt, request.known, request.draft}) {
    if (figure && *figure < 0) return out_of_range(i, *figure, 0);
  }
  if (rows_so_far > INT32_MAX) return out_of_range(i, rows_so_far, INT32_MAX);
  const int64_t end = request.computed.value_or(0) + request.query;
  if (end > INT32_MAX) return out_of_range(i, end, INT32_MAX);
  return std::nullopt;
}

MaybeError check_scalars(const NaiveStep& step) {
  for (int64_t value :
       {step.num_tokens, step.max_query_len, step.num_reqs_padded, step.num_tokens_padded}) {
    if (value < 0) return out_of_range(-1, value, 0);
  }
  const int64_t n = static_cast<int64_t>(step.requests.size());
  if (step.num_reqs_padded > 0 && step.num_reqs_padded < n) {
    return out_of_range(-1, step.num_reqs_padded, n);
  }
  if (step.num_tokens_padded > 0 && step.num_tokens_padded < step.num_rows()) {
    return out_of_range(-1, step.num_tokens_padded, step.num_rows());
  }
  return std::nullopt;
}

bool still_prefilling(const NaiveRequest& request) {
  if (request.prefilling) return *request.prefilling;
  return request.prompt && request.context < *request.prompt;
}

void classify_one(const NaiveSetup& setup, const NaiveStep& step, NaiveRequest* request) {
  const bool is_short = request->query <= setup.decode_threshold;
  const auto is = [request](Class cls, int rule) {
    request->cls = cls;
    request->rule = rule;
  };
  if (!request->live()) return is(Class::kPad, 0);
  if (step.dummies()) {
    if (is_short) return is(Class::kDecode, 0);
    if (request->context == 0) return is(Class::kPrefill, 1);
    return is(Class::kExtend, 3);
  }
  if (request->context == 0) return is(Class::kPrefill, 1);
  const bool resumed = step.phase == ATTNPLAN_PHASE_TARGET && request->known &&
                       *request->known - request->context > 1;
  if (still_prefilling(*request) || resumed) {
    return is(setup.short_extend_decode && is_short ? Class::kDecode : Class::kExtend, 2);
  }
  is(is_short ? Class::kDecode : Class::kExtend, 3);
}

void settle_exactness(const NaiveStep& step, NaiveRequest* request) {
  if (!request->live() || step.dummies()) return;
  request->exact_query = step.query_flag || !(request->cls == Class::kDecode && request->rule == 3);
  request->exact_seq = step.seq_flag || request->rule == 1 || request->rule == 2;
  if (request->seq_exact_given) request->exact_seq = *request->seq_exact_given;
  request->exact_context = request->exact_seq;  // rows of this step do not reach back
  if (!request->exact_query) request->exact_seq = false;
}

int64_t verify_bound(const NaiveSetup& setup, const NaiveStep& step) {
  int64_t rows = 0, count = 0;
  for (const NaiveRequest& request : step.requests) {
    if (request.exact_query) continue;
    rows += request.query;
    ++count;
  }
  if (count == 0) return 0;
  int64_t bound = setup.decode_threshold;
  if (step.max_query_len > 0) bound = std::min(bound, step.max_query_len);
  return std::min(bound, rows - count + 1);
}

}  // namespace

bool NaiveStep::all_lengths_exact() const {
  if (!query_flag || !seq_flag) return false;
  return std::none_of(requests.begin(), requests.end(), [](const NaiveRequest& request) {
    return request.live() && !request.seq_exact_given.value_or(true);
  });
}

int64_t NaiveStep::num_rows() const {
  int64_t rows = 0;
  for (const NaiveRequest& request : requests) rows += request.query;
  return rows;
}

MaybeError read_step(const attnplan_step& in, NaiveStep* step) {
  if ((in.query_lens == nullptr) == (in.query_start_loc == nullptr)) {
    return call_error(ATTNPLAN_INVALID_ARGUMENT);
  }
  if (in.seq_lens == nullptr && in.num_computed_tokens == nullptr && in.num_reqs > 0) {
    return call_error(ATTNPLAN_INVALID_ARGUMENT);
  }
  step->phase = in.phase;
  step->query_flag = (in.flags & ATTNPLAN_STEP_QUERY_LENS_INEXACT) == 0;
  step->seq_flag = (in.flags & ATTNPLAN_STEP_SEQ_LENS_INEXACT) == 0;
  step->num_tokens = in.num_tokens;
  step->max_query_len = in.max_query_len;
  step->num_reqs_padded = in.num_reqs_padded;
  step->num_tokens_padded = in.num_tokens_padded;
  step->graph_allow = in.graph_allow;

  if (MaybeError error = check_query_start_loc(in)) return error;
  int64_t rows = 0;
  for (int32_t i = 0; i < in.num_reqs; ++i) {
    const NaiveRequest request = read_request(in, i);
    rows += request.query;
    if (MaybeError error = check_request(in, request, rows)) return error;
    step->requests.push_back(request);
  }
  return check_scalars(*step);
}

void classify(const NaiveSetup& setup, NaiveStep* step) {
  for (NaiveRequest& request : step->requests) {
    classify_one(setup, *step, &request);
    settle_exactness(*step, &request);
  }
  step->query_len_bound = verify_bound(setup, *step);
}

}  // namespace attnplan::oracle
