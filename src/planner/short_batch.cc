#include "planner/short_batch.h"

#include <algorithm>

#include "attnplan/contract.h"
#include "planner/fingerprint.h"

namespace attnplan {
namespace {

Route classify(const ScanInput& in, int32_t i, int32_t query_len, int32_t context_len) {
  const bool short_query = query_len <= in.decode_threshold;
  if (in.dummy_phase) {
    return short_query ? Route::kDecode : context_len == 0 ? Route::kPrefill : Route::kExtend;
  }
  if (context_len == 0) return Route::kPrefill;
  bool prefilling = in.num_prompt_tokens != nullptr && context_len < in.num_prompt_tokens[i];
  if (in.is_prefilling != nullptr) prefilling = in.is_prefilling[i] != 0;
  if (in.target_phase && in.num_known_tokens != nullptr) {
    prefilling |= int64_t{in.num_known_tokens[i]} - context_len > 1;
  }
  if (prefilling && !in.short_extend_decode) return Route::kExtend;
  return short_query ? Route::kDecode : Route::kExtend;
}

int32_t value_or_zero(const int32_t* array, int32_t i) { return array != nullptr ? array[i] : 0; }

// True where one of the checks of section "Validation" may fail for this request.
bool suspicious(const ScanInput& in, int32_t i, int32_t query_len, int32_t seq_len,
                int64_t context_len) {
  const int32_t prompt = value_or_zero(in.num_prompt_tokens, i);
  const int32_t known = value_or_zero(in.num_known_tokens, i);
  const int32_t drafts = value_or_zero(in.num_draft_tokens, i);
  if ((query_len | seq_len | prompt | known | drafts) < 0 || context_len < 0) return true;
  if (query_len > in.max_query_len || (in.causal && seq_len < query_len)) return true;
  if (in.num_computed_tokens != nullptr) {
    const int64_t sum = context_len + query_len;
    if (sum > INT32_MAX || (in.all_exact && query_len > 0 && sum != seq_len)) return true;
  }
  if (drafts == 0 || query_len == 0 || !in.all_exact || !in.target_phase) return false;
  const int64_t all_known =
      in.num_known_tokens != nullptr ? known : std::max<int64_t>(prompt, context_len + 1);
  return query_len - int64_t{drafts} != all_known - context_len;
}

void add(int32_t query_len, int32_t seq_len, int32_t context_len, MeasureResult* m) {
  if (query_len <= 0) return;
  ++m->num_live;
  m->min_query_len = std::min(m->min_query_len, query_len);
  m->max_query_len = std::max(m->max_query_len, query_len);
  m->min_seq_len = std::min(m->min_seq_len, seq_len);
  m->max_seq_len = std::max(m->max_seq_len, seq_len);
  m->min_context_len = std::min(m->min_context_len, context_len);
  m->max_context_len = std::max(m->max_context_len, context_len);
  m->rows += query_len;
  m->sum_seq_lens += seq_len;
  m->sum_context_lens += context_len;
}

constexpr MeasureResult kNothing = {0, INT32_MAX, 0, INT32_MAX, 0, INT32_MAX, 0, 0, 0, 0};

}  // namespace

void scan_short(const ScanInput& in, int32_t* context_lens, int32_t* classes, ScanResult* result) {
  *result = {false, in.n, -1, in.n, -1, kNothing, {0, 0, 0}};
  const bool second = in.num_prompt_tokens != nullptr || in.num_draft_tokens != nullptr;
  uint32_t first_key = kFirstKeyStart, second_key = kSecondKeyStart;
  for (int32_t i = 0; i < in.n; ++i) {
    const int32_t query_len = in.query_lens[i], seq_len = in.seq_lens[i];
    const int64_t context_len = in.num_computed_tokens != nullptr
                                    ? in.num_computed_tokens[i]
                                    : std::max<int64_t>(int64_t{seq_len} - query_len, 0);
    const auto product = [&](int64_t a, int64_t b) {
      return uint64_t{static_cast<uint32_t>(a) + first_key} *
             (static_cast<uint32_t>(b) + second_key);
    };
    result->suspicious |= suspicious(in, i, query_len, seq_len, context_len);
    result->prints[0] += product(query_len, seq_len);
    if (second) {
      result->prints[1] +=
          product(value_or_zero(in.num_prompt_tokens, i), value_or_zero(in.num_draft_tokens, i));
    }
    const bool free = in.num_computed_tokens != nullptr && !(in.all_exact && query_len > 0);
    if (in.num_known_tokens != nullptr || free) {
      result->prints[2] += product(context_len, value_or_zero(in.num_known_tokens, i));
    }
    first_key += kFirstKeyStep;
    second_key += kSecondKeyStep;
    add(query_len, seq_len, static_cast<int32_t>(context_len), &result->all);
    if (in.num_computed_tokens == nullptr) {
      context_lens[i] = static_cast<int32_t>(std::min<int64_t>(context_len, INT32_MAX));
    }
    Route cls = Route::kPad;
    if (query_len > 0) {
      cls = classify(in, i, query_len, static_cast<int32_t>(context_len));
      if (result->first_live == in.n) result->first_live = i;
      result->last_live = i;
      if (cls != Route::kDecode && result->first_prompt == in.n) result->first_prompt = i;
      if (cls != Route::kPrefill) result->last_unprompt = i;
    }
    if (classes != nullptr) classes[i] = static_cast<int32_t>(cls);
  }
  result->suspicious |= result->all.rows > INT32_MAX;
}

void measure_short(const int32_t* query_lens, const int32_t* seq_lens, const int32_t* context_lens,
                   int32_t n, MeasureResult* result) {
  *result = kNothing;
  for (int32_t i = 0; i < n; ++i) add(query_lens[i], seq_lens[i], context_lens[i], result);
}

}  // namespace attnplan
