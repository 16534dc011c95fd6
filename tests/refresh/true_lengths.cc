#include "true_lengths.h"

#include <algorithm>

#include "naive_parts.h"

namespace attnplan::refresh {
namespace {

using oracle::Ints;
using oracle::NaiveRequest;
using oracle::NaiveStep;

Ints query_lens(const Batch& batch) {
  if (!batch.as_offsets) return batch.query;
  Ints out;
  for (size_t i = 0; i + 1 < batch.query.size(); ++i) {
    out.push_back(batch.query[i + 1] - batch.query[i]);
  }
  return out;
}

int32_t host_seq_len(const Batch& host, size_t i) {
  return host.seq_lens ? (*host.seq_lens)[i] : (*host.num_computed_tokens)[i] + query_lens(host)[i];
}

// Rows of the requests whose split is the device's: one each, the rest wherever there is room.
void deal_out_rows(const NaiveStep& step, Dice* dice, Ints* query) {
  std::vector<size_t> open;
  int64_t left = 0;
  for (size_t i = 0; i < query->size(); ++i) {
    if (step.requests[i].exact_query) continue;
    left += (*query)[i] - 1;
    (*query)[i] = 1;
    open.push_back(i);
  }
  while (left > 0 && !open.empty()) {
    const auto at = static_cast<size_t>(dice->in(0, static_cast<int64_t>(open.size()) - 1));
    const size_t request = open[at];
    if ((*query)[request] >= step.query_len_bound) {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    ++(*query)[request];
    --left;
  }
}

// How many of the assumed context tokens were rejected drafts.
int64_t rejected(const NaiveRequest& request, int64_t threshold, Dice* dice) {
  if (request.exact_context) return 0;
  const int64_t least = std::max<int64_t>(1, request.prompt.value_or(1));
  const int64_t most = std::min(threshold - 1, request.context - least);
  return most > 0 ? dice->in(0, most) : 0;
}

}  // namespace

void let_lengths_add_up(Batch* host) {
  const Ints query = query_lens(*host);
  if (!host->num_computed_tokens || !host->seq_lens) return;
  for (size_t i = 0; i < query.size(); ++i) {
    (*host->seq_lens)[i] = (*host->num_computed_tokens)[i] + query[i];
  }
}

std::optional<Batch> with_true_lengths(const Batch& host, Dice* dice) {
  const oracle::BatchStructs structs(host);
  oracle::NaiveSetup setup;
  NaiveStep step;
  if (oracle::read_setup(structs.config(), &setup) || oracle::read_step(structs.step(), &step)) {
    return std::nullopt;
  }
  oracle::classify(setup, &step);
  std::vector<oracle::NaiveWarning> warnings;
  if (oracle::validate_blocks(setup, structs.group(), &step, &warnings)) return std::nullopt;

  Batch truth = host;
  truth.query = query_lens(host);
  truth.as_offsets = false;
  deal_out_rows(step, dice, &truth.query);
  truth.seq_lens.emplace();
  for (size_t i = 0; i < truth.query.size(); ++i) {
    const NaiveRequest& request = step.requests[i];
    const int64_t taken_back = rejected(request, setup.decode_threshold, dice);
    const int64_t seq_len =
        int64_t{host_seq_len(host, i)} + truth.query[i] - request.query - taken_back;
    truth.seq_lens->push_back(static_cast<int32_t>(seq_len));
    if (truth.num_known_tokens) {
      (*truth.num_known_tokens)[i] -= static_cast<int32_t>(taken_back);
    }
  }
  truth.num_computed_tokens.reset();
  truth.num_draft_tokens.reset();
  truth.seq_len_exact.reset();
  truth.step.flags = 0;
  truth.step.max_query_len = 0;
  return truth;
}

}  // namespace attnplan::refresh
