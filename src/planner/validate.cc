#include "planner/validate.h"

#include <algorithm>

#include "planner/classify.h"

namespace attnplan {
namespace {

struct Diagnosis {
  const Config& config;
  const Step& step;
  const Lengths& lengths;
  const ScanResult& scan;
  const int32_t* context_lens;
  const int32_t* classes;
  Error* error;

  bool live(int32_t i) const { return lengths.query_lens[i] > 0; }
  template <typename... Args>
  Status fail(Code code, int32_t request, int64_t value, int64_t limit, const char* format,
              Args... args) const {
    return error->set(Status::kPlanError, code, request, value, limit, format, args...);
  }
};

using ll = long long;

Status check_query_start_loc(const Diagnosis& d) {
  const int32_t* starts = d.step.query_start_loc;
  if (starts == nullptr) return Status::kOk;
  if (starts[0] != 0) {
    return d.fail(Code::kQueryStartLocInvalid, -1, starts[0], 0,
                  "query_start_loc starts at %d, expected 0", starts[0]);
  }
  for (int32_t i = 0; i < d.step.num_reqs; ++i) {
    if (starts[i + 1] < starts[i]) {
      return d.fail(Code::kQueryStartLocInvalid, i, starts[i + 1], starts[i],
                    "query_start_loc decreases at request %d: %d after %d", i, starts[i + 1],
                    starts[i]);
    }
  }
  return Status::kOk;
}

Status check_request_ranges(const Diagnosis& d) {
  const struct {
    const char* name;
    const int32_t* values;
  } arrays[] = {{"query_len", d.lengths.query_lens},
                {"seq_len", d.step.seq_lens},
                {"num_computed_tokens", d.step.num_computed_tokens},
                {"num_prompt_tokens", d.step.num_prompt_tokens},
                {"num_known_tokens", d.step.num_known_tokens},
                {"num_draft_tokens", d.step.num_draft_tokens}};
  int64_t rows = 0;
  for (int32_t i = 0; i < d.step.num_reqs; ++i) {
    for (const auto& array : arrays) {
      if (array.values != nullptr && array.values[i] < 0) {
        return d.fail(Code::kValueOutOfRange, i, array.values[i], 0,
                      "%s of request %d is %d, expected at least 0", array.name, i,
                      array.values[i]);
      }
    }
    const int64_t query_len = d.lengths.query_lens[i];
    rows += query_len;
    if (rows > INT32_MAX) {
      return d.fail(Code::kValueOutOfRange, i, rows, INT32_MAX,
                    "the query lengths up to request %d sum to %lld rows, more than int32 holds", i,
                    ll{rows});
    }
    if (d.step.num_computed_tokens == nullptr) continue;
    const int64_t seq_len = d.step.num_computed_tokens[i] + query_len;
    if (seq_len > INT32_MAX) {
      return d.fail(Code::kValueOutOfRange, i, seq_len, INT32_MAX,
                    "computed and query tokens of request %d sum to %lld, more than int32 holds", i,
                    ll{seq_len});
    }
  }
  return Status::kOk;
}

Status check_scalar_ranges(const Diagnosis& d) {
  const Step& s = d.step;
  const struct {
    const char* name;
    int32_t value;
  } scalars[] = {{"num_tokens", s.num_tokens},
                 {"max_query_len", s.max_query_len},
                 {"num_reqs_padded", s.num_reqs_padded},
                 {"num_tokens_padded", s.num_tokens_padded}};
  for (const auto& scalar : scalars) {
    if (scalar.value < 0) {
      return d.fail(Code::kValueOutOfRange, -1, scalar.value, 0, "%s is %d, expected at least 0",
                    scalar.name, scalar.value);
    }
  }
  if (s.num_reqs_padded != 0 && s.num_reqs_padded < s.num_reqs) {
    return d.fail(Code::kValueOutOfRange, -1, s.num_reqs_padded, s.num_reqs,
                  "num_reqs_padded is %d, fewer than the %d requests of the batch",
                  s.num_reqs_padded, s.num_reqs);
  }
  if (s.num_tokens_padded != 0 && s.num_tokens_padded < d.scan.all.rows) {
    return d.fail(Code::kValueOutOfRange, -1, s.num_tokens_padded, d.scan.all.rows,
                  "num_tokens_padded is %d, fewer than the %lld rows of the batch",
                  s.num_tokens_padded, ll{d.scan.all.rows});
  }
  return Status::kOk;
}

Status check_seq_covers_query(const Diagnosis& d) {
  if (d.config.mask != Mask::kCausal) return Status::kOk;
  for (int32_t i = 0; i < d.step.num_reqs; ++i) {
    const int32_t seq_len = d.lengths.seq_lens[i], query_len = d.lengths.query_lens[i];
    if (d.live(i) && seq_len < query_len) {
      return d.fail(Code::kSeqShorterThanQuery, i, seq_len, query_len,
                    "request %d has seq_len %d, shorter than its %d query rows", i, seq_len,
                    query_len);
    }
  }
  return Status::kOk;
}

Status check_lengths_add_up(const Diagnosis& d) {
  const int32_t* computed = d.step.num_computed_tokens;
  if (computed == nullptr || !all_lengths_exact(d.step, d.lengths)) return Status::kOk;
  for (int32_t i = 0; i < d.step.num_reqs; ++i) {
    const int64_t sum = int64_t{computed[i]} + d.lengths.query_lens[i];
    if (d.live(i) && sum != d.lengths.seq_lens[i]) {
      return d.fail(Code::kSeqMismatch, i, d.lengths.seq_lens[i], sum,
                    "request %d has seq_len %d, but %d computed tokens and %d rows", i,
                    d.lengths.seq_lens[i], computed[i], d.lengths.query_lens[i]);
    }
  }
  return Status::kOk;
}

// The one query length of all live requests; 0 where there is none.
int32_t common_query_len(const Diagnosis& d) {
  int32_t common = 0;
  for (int32_t i = 0; i < d.step.num_reqs; ++i) {
    const int32_t query_len = d.lengths.query_lens[i];
    if (query_len == 0) continue;
    if (common != 0 && query_len != common) return 0;
    common = query_len;
  }
  return common;
}

Status check_row_count(const Diagnosis& d) {
  const Step& s = d.step;
  if (s.num_tokens != 0 && s.num_tokens != d.scan.all.rows) {
    return d.fail(Code::kRowCountMismatch, -1, s.num_tokens, d.scan.all.rows,
                  "num_tokens is %d, but the query lengths sum to %lld rows", s.num_tokens,
                  ll{d.scan.all.rows});
  }
  if (!is_dummy_phase(s.phase) || s.num_tokens_padded == 0 || s.graph_allow != GraphMode::kFull) {
    return Status::kOk;
  }
  const int64_t width = common_query_len(d);
  const int64_t requests = s.num_reqs_padded != 0 ? s.num_reqs_padded : s.num_reqs;
  if (width == 0 || s.num_tokens_padded == requests * width) return Status::kOk;
  return d.fail(Code::kRowCountMismatch, -1, s.num_tokens_padded, requests * width,
                "num_tokens_padded is %d, but %lld padded requests of %lld rows make %lld",
                s.num_tokens_padded, ll{requests}, ll{width}, ll{requests * width});
}

Status check_inexact_bound(const Diagnosis& d) {
  Lanes lanes{.n = d.step.num_reqs,
              .rows = d.scan.all.rows,
              .query_lens = d.lengths.query_lens,
              .seq_lens = d.lengths.seq_lens,
              .context_lens = d.context_lens,
              .classes = d.classes};
  for (int32_t i = 0; i < lanes.n; ++i) {
    if (lanes.query_lens[i] > d.step.max_query_len && !is_verify(d.step, lanes, i)) {
      return d.fail(Code::kQueryLenBoundTooSmall, i, lanes.query_lens[i], d.step.max_query_len,
                    "request %d has %d rows, above the declared max_query_len %d", i,
                    lanes.query_lens[i], d.step.max_query_len);
    }
  }
  const VerifyRows verify = verify_rows(d.config, d.step, lanes);
  const int64_t room = int64_t{d.step.max_query_len} * verify.requests;
  if (room >= verify.rows) return Status::kOk;
  return d.fail(Code::kQueryLenBoundTooSmall, -1, verify.rows, room,
                "%d verify requests of at most %d rows cannot hold %lld rows", verify.requests,
                d.step.max_query_len, ll{verify.rows});
}

Status check_query_len_bound(const Diagnosis& d) {
  if (d.step.max_query_len == 0) return Status::kOk;
  if (!d.step.query_lens_exact && !is_dummy_phase(d.step.phase)) return check_inexact_bound(d);
  for (int32_t i = 0; i < d.step.num_reqs; ++i) {
    if (d.lengths.query_lens[i] > d.step.max_query_len) {
      return d.fail(Code::kQueryLenBoundTooSmall, i, d.lengths.query_lens[i], d.step.max_query_len,
                    "request %d has %d rows, above the declared max_query_len %d", i,
                    d.lengths.query_lens[i], d.step.max_query_len);
    }
  }
  return Status::kOk;
}

Status check_drafts(const Diagnosis& d) {
  const Step& s = d.step;
  if (s.phase != Phase::kTarget || s.num_draft_tokens == nullptr ||
      !all_lengths_exact(s, d.lengths)) {
    return Status::kOk;
  }
  for (int32_t i = 0; i < s.num_reqs; ++i) {
    const int64_t drafts = s.num_draft_tokens[i], computed = d.context_lens[i];
    if (!d.live(i) || drafts == 0) continue;
    const int64_t prompt = s.num_prompt_tokens != nullptr ? s.num_prompt_tokens[i] : 0;
    const int64_t known =
        s.num_known_tokens != nullptr ? s.num_known_tokens[i] : std::max(prompt, computed + 1);
    const int64_t expected = known - computed + drafts;
    if (d.lengths.query_lens[i] != expected) {
      return d.fail(Code::kQueryDraftMismatch, i, d.lengths.query_lens[i], expected,
                    "request %d has %d rows, but %lld known tokens to compute and %lld drafts", i,
                    d.lengths.query_lens[i], ll{known - computed}, ll{drafts});
    }
  }
  return Status::kOk;
}

// Checks that the scan does not cover run only where their inputs are there.
bool must_diagnose(const Step& step, const Lengths& lengths, const ScanResult& scan) {
  const int32_t scalars =
      step.num_tokens | step.max_query_len | step.num_reqs_padded | step.num_tokens_padded;
  if (scan.suspicious || lengths.starts_decrease || scalars < 0) return true;
  if (step.query_start_loc != nullptr && step.query_start_loc[0] != 0) return true;
  if (step.num_tokens != 0 && step.num_tokens != scan.all.rows) return true;
  if (step.num_reqs_padded != 0 && step.num_reqs_padded < step.num_reqs) return true;
  if (step.num_tokens_padded != 0 &&
      (step.num_tokens_padded < scan.all.rows || is_dummy_phase(step.phase))) {
    return true;
  }
  return !step.query_lens_exact && step.max_query_len != 0;
}

}  // namespace

Status validate(const Config& config, const Step& step, const Lengths& lengths,
                const ScanResult& scan, const int32_t* context_lens, const int32_t* classes,
                Error* error) {
  if (!must_diagnose(step, lengths, scan)) return Status::kOk;
  const Diagnosis diagnosis{config, step, lengths, scan, context_lens, classes, error};
  for (const auto check :
       {check_query_start_loc, check_request_ranges, check_scalar_ranges, check_seq_covers_query,
        check_lengths_add_up, check_row_count, check_query_len_bound, check_drafts}) {
    if (const Status status = check(diagnosis); status != Status::kOk) return status;
  }
  return Status::kOk;
}

}  // namespace attnplan
