// The step: requests of every class, in tidy and in untidy order, with state that fits them.
#include <algorithm>

#include "generate.h"

namespace attnplan::property {
namespace {

using oracle::Ints;

enum class Kind { kDecode, kExtend, kPrefill, kPad };

struct Request {
  Kind kind = Kind::kPad;
  int32_t query = 0, context = 0, seq = 0, prompt = 0, known = 0, drafts = 0;
};

int generate_count(Dice* dice) {
  const int64_t roll = dice->in(0, 999);
  if (roll < 30) return 0;
  if (roll < 130) return 1;
  if (roll < 600) return dice->in32(2, 6);
  if (roll < 860) return dice->in32(7, 16);
  if (roll < 990) return dice->in32(17, 80);
  return dice->in32(81, 300);
}

// Runs of one kind; `tidy` batches have decodes before extends before prefills.
std::vector<Kind> generate_kinds(Dice* dice, int count) {
  static constexpr Kind kAll[] = {Kind::kDecode, Kind::kExtend, Kind::kPrefill};
  std::vector<Kind> kinds;
  const bool tidy = dice->percent(70);
  const bool only_decodes = dice->percent(35);
  while (static_cast<int>(kinds.size()) < count) {
    const Kind kind = only_decodes ? Kind::kDecode : kAll[dice->in(0, 2)];
    kinds.insert(kinds.end(), static_cast<size_t>(dice->in(1, 4)), kind);
  }
  kinds.resize(static_cast<size_t>(count));
  if (tidy) std::sort(kinds.begin(), kinds.end());
  const int pad_percent = dice->pick({0, 0, 0, 8, 30});
  for (Kind& kind : kinds) {
    if (dice->percent(pad_percent)) kind = Kind::kPad;
  }
  if (dice->percent(20)) {
    for (int i = dice->in32(0, count); i < count; ++i) kinds[static_cast<size_t>(i)] = Kind::kPad;
  }
  return kinds;
}

int32_t generate_context(Dice* dice) {
  return dice->pick({dice->in32(1, 12), dice->in32(1, 300), dice->in32(1, 300), dice->in32(1, 6000),
                     dice->in32(1, 200000)});
}

struct Habits {  // of one batch
  int32_t threshold;
  int32_t width;       // of its verify requests
  int ragged_percent;  // how many of them differ
};

int32_t any_width(Dice* dice, const Habits& habits) {
  if (dice->percent(40)) return dice->in32(1, habits.threshold + 1);
  return dice->percent(2) ? dice->in32(1, 9000) : dice->in32(1, 120);
}

Request generate_request(Dice* dice, const Habits& habits, Kind kind) {
  Request out;
  out.kind = kind;
  switch (kind) {
    case Kind::kDecode:
      out.query =
          dice->percent(habits.ragged_percent) ? dice->in32(1, habits.threshold) : habits.width;
      out.context = generate_context(dice);
      out.prompt = dice->in32(0, out.context);
      out.known = out.context + 1;
      out.drafts = out.query - 1;
      break;
    case Kind::kExtend:
      out.query = any_width(dice, habits);
      out.context = generate_context(dice);
      out.prompt = out.context + out.query + (dice->percent(50) ? dice->in32(0, 50) : 0);
      out.known = dice->percent(30) ? out.context + out.query : out.prompt;
      if (dice->percent(15)) out.prompt = out.context / 2;  // resumed: only `known` tells
      break;
    case Kind::kPrefill:
      out.query = any_width(dice, habits);
      out.prompt = out.query + (dice->percent(50) ? dice->in32(0, 50) : 0);
      out.known = out.prompt;
      break;
    case Kind::kPad:
      if (dice->percent(70)) return out;
      out.context = dice->in32(0, 50);  // what the last tenant of the slot left behind
      out.known = out.prompt = dice->in32(0, 60);
      break;
  }
  out.seq = out.context + out.query;
  return out;
}

template <typename Get>
Ints column(const std::vector<Request>& requests, Get get) {
  Ints out;
  for (const Request& request : requests) out.push_back(get(request));
  return out;
}

void put_state(Dice* dice, const std::vector<Request>& requests, Batch* batch) {
  if (dice->percent(55)) {
    batch->num_computed_tokens = column(requests, [](const Request& r) { return r.context; });
  }
  if (!batch->num_computed_tokens || dice->percent(80)) {
    batch->seq_lens = column(requests, [](const Request& r) { return r.seq; });
  }
  if (dice->percent(50)) {
    batch->num_prompt_tokens = column(requests, [](const Request& r) { return r.prompt; });
  }
  if (dice->percent(35)) {
    batch->num_known_tokens = column(requests, [](const Request& r) { return r.known; });
  }
  if (dice->percent(15)) {
    batch->num_draft_tokens = column(requests, [](const Request& r) { return r.drafts; });
    for (int32_t& drafts : *batch->num_draft_tokens) {
      if (dice->percent(2)) drafts = dice->in32(0, 8);
    }
  }
  if (dice->percent(25)) {
    batch->is_prefilling.emplace();
    for (const Request& request : requests) {
      const bool honest = request.kind == Kind::kExtend || request.kind == Kind::kPrefill;
      batch->is_prefilling->push_back(dice->percent(5) ? !honest : honest);
    }
  }
  if (dice->percent(20)) {
    batch->seq_len_exact.emplace();
    for (size_t i = 0; i < requests.size(); ++i) {
      batch->seq_len_exact->push_back(dice->percent(70));
    }
  }
}

int64_t sum(const Ints& values) {
  int64_t total = 0;
  for (int32_t value : values) total += value;
  return total;
}

void declare_counts(Dice* dice, const Ints& query, Batch* batch) {
  const int32_t rows = static_cast<int32_t>(sum(query));
  const int32_t n = static_cast<int32_t>(query.size());
  const int32_t widest = query.empty() ? 0 : *std::max_element(query.begin(), query.end());
  attnplan_step* step = &batch->step;
  if (dice->percent(25)) step->num_tokens = rows;
  if (dice->percent(25)) step->max_query_len = widest + dice->pick({0, 0, 1, 30, -1});
  step->max_query_len = std::max(step->max_query_len, 0);
  if (dice->percent(20)) step->num_reqs_padded = n + dice->pick({0, 1, 7});
  if (dice->percent(20)) {
    const int64_t reqs = step->num_reqs_padded > 0 ? step->num_reqs_padded : n;
    step->num_tokens_padded =
        dice->percent(60) ? static_cast<int32_t>(reqs * widest) : rows + dice->in32(0, 9);
  }
}

void set_limits(Dice* dice, const Ints& query, Batch* batch) {
  attnplan_config* config = &batch->config;
  const int32_t n = static_cast<int32_t>(query.size());
  if (dice->percent(12)) config->max_num_seqs = std::max(1, n + dice->in32(-2, 3));
  if (dice->percent(12)) {
    config->max_num_batched_tokens =
        std::max(1, static_cast<int32_t>(sum(query)) + dice->in32(-2, 30));
  }
  if (dice->percent(12)) config->max_model_len = dice->pick({100, 320, 6100, 300000});
}

// Lengths that do not add up are legal where they are only bounds.
void blur_lengths(Dice* dice, Batch* batch) {
  if (!batch->seq_lens || batch->step.flags == 0 || !dice->percent(20)) return;
  for (int32_t& seq : *batch->seq_lens) {
    if (dice->percent(30)) seq = std::max(0, seq + dice->in32(-3, 5));
  }
}

}  // namespace

void generate_requests(Dice* dice, Batch* batch) {
  const int count = generate_count(dice);
  const int32_t threshold = std::max(1, batch->config.decode_threshold);
  const Habits habits{threshold, dice->in32(1, threshold), dice->pick({0, 0, 15, 100})};
  std::vector<Request> requests;
  for (Kind kind : generate_kinds(dice, count)) {
    requests.push_back(generate_request(dice, habits, kind));
  }
  const Ints query = column(requests, [](const Request& r) { return r.query; });

  batch->step.phase = dice->pick<attnplan_phase>(
      {ATTNPLAN_PHASE_TARGET, ATTNPLAN_PHASE_TARGET, ATTNPLAN_PHASE_TARGET, ATTNPLAN_PHASE_TARGET,
       ATTNPLAN_PHASE_DRAFT, ATTNPLAN_PHASE_DRAFT, ATTNPLAN_PHASE_CAPTURE, ATTNPLAN_PHASE_IDLE});
  if (dice->percent(20)) batch->step.flags |= ATTNPLAN_STEP_QUERY_LENS_INEXACT;
  if (dice->percent(30)) batch->step.flags |= ATTNPLAN_STEP_SEQ_LENS_INEXACT;
  put_state(dice, requests, batch);
  declare_counts(dice, query, batch);
  set_limits(dice, query, batch);
  blur_lengths(dice, batch);

  batch->query = query;
  if (!dice->percent(40)) return;
  batch->as_offsets = true;
  batch->query = {0};
  for (int32_t length : query) batch->query.push_back(batch->query.back() + length);
}

}  // namespace attnplan::property
