// What extend requests fetch under a sliding window, and the virtual batches of chunked local
// attention.
#include <algorithm>
#include <cstring>

#include "planner/sections.h"

namespace attnplan {
namespace {

struct Fetch {
  int32_t start;
  int32_t len;
};

// Tokens that the rows of the request at a plan position may see. Where the length is a bound, the
// start is that of the lowest possible length, so that nothing is missed.
Fetch window_of(const Plan& plan, int32_t i) {
  const Config& config = plan.state->config;
  if (plan.lanes->query_lens[i] == 0) return {0, 0};
  const int32_t seq_len = plan.max_seq_len(i);
  int64_t context = plan.context_in_cache(i);
  if (plan.context_inexact(i)) {
    const int32_t query_len = plan.lanes->query_lens[i];
    const int64_t shortest = std::max<int64_t>(
        query_len, int64_t{plan.lanes->seq_lens[i]} - (config.decode_threshold - 1));
    context = shortest - query_len;
  }
  const int64_t start =
      config.sliding_window > 0 ? std::max<int64_t>(0, context - config.sliding_window + 1) : 0;
  return {static_cast<int32_t>(start), static_cast<int32_t>(std::max<int64_t>(0, seq_len - start))};
}

template <typename Visit>
void for_each_extend(const Plan& plan, Visit visit) {
  for (const attnplan_segment& segment : plan.parts->segments) {
    if (segment.route != static_cast<int32_t>(Route::kExtend)) continue;
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) visit(i);
  }
}

attnplan_window window_totals(const Plan& plan) {
  attnplan_window window{};
  for_each_extend(plan, [&](int32_t i) {
    const int32_t len = window_of(plan, i).len;
    ++window.num_requests;
    window.max_len = std::max(window.max_len, len);
    window.total += len;
  });
  return window;
}

// Rows of one request by position, and where those begin that a draft step's clamp left without any
// key: the sequence has ended before them.
struct Positions {
  int64_t begin;
  int64_t keyless;
  int64_t end;
};

Positions positions_of(const Plan& plan, int32_t i) {
  const int64_t begin = plan.context_in_cache(i);
  const int64_t end = begin + plan.lanes->query_lens[i];
  const int64_t keyless =
      plan.lanes->is_cut(i) ? std::clamp<int64_t>(plan.lanes->seq_lens[i], begin, end) : end;
  return {begin, keyless, end};
}

// Rows with keys, cut at multiples of the chunk: each piece ends with its keys, which is where
// kernels align it. Then those without, so that the pieces still add up to all rows.
template <typename Visit>
void cut_locally(const Plan& plan, int32_t i, Visit visit) {
  const int64_t chunk = plan.state->config.local_attention_chunk;
  const int64_t block_size = plan.state->view ? plan.state->config.kv_cache->block_size : 1;
  const Positions at = positions_of(plan, i);
  for (int64_t begin = at.begin; begin < at.keyless;) {
    const int64_t chunk_begin = begin / chunk * chunk;
    const int64_t end = std::min(at.keyless, chunk_begin + chunk);
    visit(attnplan_local_batch{static_cast<int32_t>(end - begin),
                               static_cast<int32_t>(end - chunk_begin), i,
                               static_cast<int32_t>(chunk_begin / block_size)});
    begin = end;
  }
  if (at.keyless < at.end) {
    visit(attnplan_local_batch{static_cast<int32_t>(at.end - at.keyless), 0, i, 0});
  }
}

int64_t pieces_of(const Plan& plan, int32_t i) {
  const int64_t chunk = plan.state->config.local_attention_chunk;
  const Positions at = positions_of(plan, i);
  const int64_t with_keys =
      at.begin < at.keyless ? (at.keyless - 1) / chunk - at.begin / chunk + 1 : 0;
  return with_keys + (at.keyless < at.end);
}

int64_t local_count(const Plan& plan) {
  int64_t count = 0;
  for (int32_t i = 0; i < plan.lanes->n; ++i) count += pieces_of(plan, i);
  return count;
}

// Pieces that `rows` of so many requests make at most, wherever they stand.
int64_t most_pieces(const Plan& plan, int64_t rows, int64_t requests) {
  const int64_t chunk = plan.state->config.local_attention_chunk;
  const bool may_cut =
      plan.state->view && plan.group->has_table() && plan.step->phase == Phase::kDraft;
  const int64_t cut = (rows + requests * (chunk - 2)) / chunk + requests;
  return std::min(cut + (may_cut ? requests : 0), rows);
}

// Room for what the device makes of it: rows that begin elsewhere are cut elsewhere, and the true
// lengths may need a piece more than their bounds.
int64_t local_room(const Plan& plan, int64_t count) {
  if (plan.inexact == 0) return count;
  int64_t room = 0, moving_rows = 0;
  for (int32_t i = 0; i < plan.lanes->n; ++i) {
    const int32_t rows = plan.lanes->query_lens[i];
    if (plan.query_inexact(i)) {
      moving_rows += rows;
    } else {
      room += plan.context_inexact(i) ? most_pieces(plan, rows, 1) : pieces_of(plan, i);
    }
  }
  return room + most_pieces(plan, moving_rows, plan.num_query_inexact);
}

}  // namespace

void describe_windows(const Plan* plan, const Planner::State& state, SectionList* list) {
  const auto asked = [&state](int32_t id) { return (state.config.sections >> id & 1) != 0; };
  const Capacity& c = state.capacity;
  if (asked(ATTNPLAN_SECTION_WINDOW)) {
    const uint8_t validity =
        plan && (plan->inexact & kSeqInexact) ? ATTNPLAN_VALIDITY_BOUND : ATTNPLAN_VALIDITY_EXACT;
    const int64_t requests = plan ? window_totals(*plan).num_requests : 0;
    list->add_records<attnplan_window>(ATTNPLAN_SECTION_WINDOW, ATTNPLAN_TYPE_WINDOW, 1, 1);
    list->last().validity = validity;
    list->add_ints(ATTNPLAN_SECTION_WINDOW_START, ATTNPLAN_EXTENT_REQUESTS, validity, requests,
                   requests, c.requests);
    list->add_ints(ATTNPLAN_SECTION_WINDOW_CU_LEN, ATTNPLAN_EXTENT_REQUESTS, validity, requests + 1,
                   requests + 1, c.requests + 1);
  }
  if (asked(ATTNPLAN_SECTION_LOCAL)) {
    const int64_t count = plan ? local_count(*plan) : 0;
    list->add(ATTNPLAN_SECTION_LOCAL, ATTNPLAN_TYPE_LOCAL_BATCH, ATTNPLAN_EXTENT_OTHER,
              device_if(plan && plan->inexact != 0), sizeof(attnplan_local_batch), count,
              plan ? local_room(*plan, count) : 0, c.local_batches);
  }
}

void write_windows(const Plan& plan, const SectionSpec& spec, std::byte* bytes) {
  auto* out = reinterpret_cast<int32_t*>(bytes);
  switch (spec.id) {
    case ATTNPLAN_SECTION_WINDOW: {
      const attnplan_window window = window_totals(plan);
      std::memcpy(bytes, &window, sizeof window);
      return;
    }
    case ATTNPLAN_SECTION_WINDOW_START:
      return for_each_extend(plan, [&](int32_t i) { *out++ = window_of(plan, i).start; });
    case ATTNPLAN_SECTION_WINDOW_CU_LEN: {
      int64_t sum = 0;
      *out++ = 0;
      return for_each_extend(plan, [&](int32_t i) {
        sum += window_of(plan, i).len;
        *out++ = static_cast<int32_t>(std::min<int64_t>(sum, INT32_MAX));
      });
    }
    case ATTNPLAN_SECTION_LOCAL: {
      auto* batch = reinterpret_cast<attnplan_local_batch*>(bytes);
      for (int32_t i = 0; i < plan.lanes->n; ++i) {
        if (plan.lanes->query_lens[i] == 0) continue;
        cut_locally(plan, i, [&](const attnplan_local_batch& piece) { *batch++ = piece; });
      }
      std::fill_n(batch, spec.used - spec.count, attnplan_local_batch{});
      return;
    }
  }
}

}  // namespace attnplan
