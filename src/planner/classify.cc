#include "planner/classify.h"

#include <algorithm>

#include "planner/scratch.h"
#include "planner/short_batch.h"

namespace attnplan {

bool all_lengths_exact(const Step& step, const Lengths& lengths) {
  if (!step.query_lens_exact || !step.seq_lens_exact) return false;
  if (step.seq_len_exact == nullptr) return true;
  for (int32_t i = 0; i < step.num_reqs; ++i) {
    if (lengths.query_lens[i] > 0 && step.seq_len_exact[i] == 0) return false;
  }
  return true;
}

void scan_step(const Config& config, const Step& step, const Lengths& lengths, const Isa& isa,
               Scratch::Buffers& buffers, ScanResult* result, Lanes* lanes) {
  const auto n = static_cast<size_t>(step.num_reqs);
  const ScanInput in = {
      .n = step.num_reqs,
      .query_lens = lengths.query_lens,
      .seq_lens = lengths.seq_lens,
      .num_computed_tokens = step.num_computed_tokens,
      .num_prompt_tokens = step.num_prompt_tokens,
      .num_known_tokens = step.num_known_tokens,
      .num_draft_tokens = step.num_draft_tokens,
      .is_prefilling = step.is_prefilling,
      .decode_threshold = config.decode_threshold,
      .max_query_len =
          step.max_query_len > 0 && step.query_lens_exact ? step.max_query_len : INT32_MAX,
      .causal = config.mask == Mask::kCausal,
      .all_exact = all_lengths_exact(step, lengths),
      .target_phase = step.phase == Phase::kTarget,
      .dummy_phase = is_dummy_phase(step.phase),
      .short_extend_decode = config.short_extend_decode,
  };
  // Classes are read one by one only to sort, and to tell which lengths are inexact.
  const bool want_classes = config.order == Order::kSort || !step.query_lens_exact ||
                            !step.seq_lens_exact || step.seq_len_exact != nullptr;
  int32_t* context_lens =
      step.num_computed_tokens == nullptr ? buffers.context_lens.fit(n) : nullptr;
  int32_t* classes = want_classes ? buffers.classes.fit(n) : nullptr;
  const auto scan = step.num_reqs <= kShortBatch ? scan_short : isa.scan;
  scan(in, context_lens, classes, result);
  *lanes = {.n = step.num_reqs,
            .rows = result->all.rows,
            .query_lens = lengths.query_lens,
            .seq_lens = lengths.seq_lens,
            .context_lens = context_lens != nullptr ? context_lens : step.num_computed_tokens,
            .classes = classes};
}

bool continues_prompt(const Step& step, int32_t request, int32_t context_len) {
  const bool prefilling = step.is_prefilling       ? step.is_prefilling[request] != 0
                          : step.num_prompt_tokens ? context_len < step.num_prompt_tokens[request]
                                                   : false;
  const bool resumed = step.phase == Phase::kTarget && step.num_known_tokens != nullptr &&
                       step.num_known_tokens[request] - context_len > 1;
  return prefilling || resumed;
}

bool is_verify(const Step& step, const Lanes& lanes, int32_t i) {
  return lanes.classes[i] == static_cast<int32_t>(Route::kDecode) && lanes.context_lens[i] > 0 &&
         !continues_prompt(step, i, lanes.context_lens[i]);
}

VerifyRows verify_rows(const Config& config, const Step& step, const Lanes& lanes) {
  VerifyRows verify;
  for (int32_t i = 0; i < lanes.n; ++i) {
    if (lanes.query_lens[i] == 0 || !is_verify(step, lanes, i)) continue;
    verify.rows += lanes.query_lens[i];
    ++verify.requests;
  }
  int64_t bound = config.decode_threshold;
  if (step.max_query_len > 0) bound = std::min<int64_t>(bound, step.max_query_len);
  verify.bound = static_cast<int32_t>(std::min(bound, verify.rows - verify.requests + 1));
  return verify;
}

void classify_exactness(const Config& config, const Step& step, Scratch::Buffers& buffers,
                        Lanes* lanes) {
  const bool flagged = !step.query_lens_exact || !step.seq_lens_exact || step.seq_len_exact;
  if (!flagged || is_dummy_phase(step.phase)) return;
  uint8_t* inexact = buffers.inexact.fit(static_cast<size_t>(lanes->n));
  uint8_t any = 0;
  for (int32_t i = 0; i < lanes->n; ++i) {
    uint8_t bits = 0;
    if (lanes->query_lens[i] > 0) {
      const int32_t context_len = lanes->context_lens[i];
      const bool holds_no_drafts = context_len == 0 || continues_prompt(step, i, context_len);
      const bool exact =
          step.seq_len_exact ? step.seq_len_exact[i] != 0 : step.seq_lens_exact || holds_no_drafts;
      if (!exact) bits |= kSeqInexact | kContextInexact;
      if (!step.query_lens_exact && is_verify(step, *lanes, i)) {
        bits |= kQueryInexact | kSeqInexact;
      }
    }
    any |= bits;
    inexact[i] = bits;
  }
  if (any == 0) return;
  lanes->inexact = inexact;
  if (any & kQueryInexact) lanes->query_bound = verify_rows(config, step, *lanes).bound;
}

}  // namespace attnplan
