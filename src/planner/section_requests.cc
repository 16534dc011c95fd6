// Sections with one element per request or per row: starts, lengths, row maps, context-parallel
// bounds. Tails cover the pads of a graph: empty, or of full width with one KV token.
#include <algorithm>

#include "planner/sections.h"

namespace attnplan {
namespace {

// Starts of a segment's requests. Behind the first request whose rows the device splits only the
// device knows where one begins, unless the segment holds all such requests and this is behind
// them.
int32_t* write_starts(const Plan& plan, const attnplan_segment& segment, int32_t* out) {
  int32_t row = 0, inexact = 0;
  *out++ = 0;
  for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
    row += plan.lanes->query_lens[i];
    inexact += plan.query_inexact(i);
    *out++ = inexact == 0 || inexact == plan.num_query_inexact ? row : kFill;
  }
  return out;
}

void write_query_start_loc(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  int32_t* const end = out + spec.used;
  for (const attnplan_segment& segment : plan.parts->segments) {
    out = write_starts(plan, segment, out);
  }
  if (out == end) return;
  int32_t row = plan.parts->segments.empty() ? (*out++ = 0) : *(out - 1);
  for (int32_t pad = plan.first_graph_pad; out < end; ++pad) {
    *out++ = row += plan.is_full_pad(pad) ? plan.pad_width : 0;
  }
}

void write_seq_lens(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const int32_t n = plan.lanes->n;
  if (plan.lanes->inexact == nullptr) {
    for (int32_t i = 0; i < n; ++i) {
      out[i] = plan.lanes->query_lens[i] > 0 ? plan.lanes->seq_lens[i] : plan.is_full_pad(i);
    }
  } else {
    for (int32_t i = 0; i < n; ++i) out[i] = plan.is_full_pad(i) ? 1 : plan.max_seq_len(i);
  }
  std::fill(out + n, out + spec.used, plan.pad_width > 0 ? 1 : 0);
}

void write_context_lens(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const int32_t n = plan.lanes->n;
  for (int32_t i = 0; i < n; ++i) {
    const bool live = plan.lanes->query_lens[i] > 0;
    out[i] = plan.context_inexact(i) ? kFill : live ? plan.lanes->context_lens[i] : 0;
  }
  std::fill(out + n, out + spec.used, 0);
}

void write_row_request(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  int32_t* const end = out + spec.used;
  for (int32_t i = 0; i < plan.lanes->n; ++i) {
    out = std::fill_n(out, plan.lanes->query_lens[i], plan.rows_move(i) ? kFill : i);
  }
  int32_t pad = plan.first_graph_pad;
  for (; out < end && plan.pad_width > 0; ++pad) out = std::fill_n(out, plan.pad_width, pad);
  std::fill(out, std::max(out, end), kFill);
}

void write_row_position(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const Lanes& lanes = *plan.lanes;
  int32_t* const end = out + spec.used;
  for (int32_t i = 0; i < lanes.n; ++i) {
    const bool unknown = plan.rows_move(i) || (lanes.inexact != nullptr && lanes.inexact[i] != 0);
    for (int32_t row = 0; row < lanes.query_lens[i]; ++row) {
      const int64_t position = int64_t{lanes.context_lens[i]} + row;
      // A row at or past the clamp of a draft step has no place in the cache.
      const bool clamped = lanes.is_cut(i) && position >= lanes.seq_lens[i];
      *out++ = unknown || clamped ? kFill : static_cast<int32_t>(position);
    }
  }
  std::fill(out, end, plan.pad_width > 0 ? 0 : kFill);
}

// Tokens of this rank among the first `seen` of a sequence whose tokens are dealt out to the ranks
// in runs of `interleave`.
int32_t local_tokens(const Config& config, int64_t seen) {
  const int64_t run = config.context_parallel_interleave;
  const int64_t round = run * config.context_parallel_world;
  const int64_t rest = seen % round - config.context_parallel_rank * run;
  return static_cast<int32_t>(seen / round * run + std::clamp<int64_t>(rest, 0, run));
}

void write_context_parallel(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const Lanes& lanes = *plan.lanes;
  const Config& config = plan.state->config;
  int32_t* const end = out + spec.used;
  for (int32_t i = 0; i < lanes.n; ++i) {
    const bool unknown = plan.rows_move(i) || (lanes.inexact != nullptr && lanes.inexact[i] != 0);
    for (int32_t row = 0; row < lanes.query_lens[i]; ++row) {
      int64_t seen = lanes.seq_lens[i];
      if (config.mask == Mask::kCausal) {
        seen = std::min<int64_t>(seen, int64_t{lanes.context_lens[i]} + row + 1);
      }
      *out++ = unknown ? kFill : local_tokens(config, seen);
    }
  }
  std::fill(out, end, plan.pad_width > 0 ? local_tokens(config, 1) : 0);
}

int64_t starts_count(const Plan& plan) {
  int64_t count = 0;
  for (const attnplan_segment& s : plan.parts->segments) count += s.req_end - s.req_begin + 1;
  return count;
}

// With the graph's pads behind the last segment; where an idle rank has none, with the leading 0.
int64_t padded_starts_count(const Plan& plan) {
  if (plan.graph.width == 0) return starts_count(plan);
  const int64_t pads = std::max(plan.padded_requests - plan.first_graph_pad, 0);
  return starts_count(plan) + pads + (plan.parts->segments.empty() ? 1 : 0);
}

}  // namespace

void describe_requests(const Plan* plan, const Planner::State& state, SectionList* list) {
  const auto asked = [&state](int32_t id) { return (state.config.sections >> id & 1) != 0; };
  const Capacity& c = state.capacity;
  const uint8_t inexact = plan ? plan->inexact : 0;
  const int64_t n = plan ? plan->lanes->n : 0;
  const int64_t rows = plan ? plan->lanes->rows : 0;
  const int64_t padded_n = plan ? plan->padded_requests : 0;
  const int64_t padded_rows = plan ? plan->padded_rows : 0;
  const uint8_t split = device_if((inexact & kQueryInexact) != 0);
  if (asked(ATTNPLAN_SECTION_QUERY_START_LOC)) {
    list->add_ints(ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_EXTENT_REQUESTS, split,
                   plan ? starts_count(*plan) : 0, plan ? padded_starts_count(*plan) : 0,
                   c.requests + c.segments + 1);
  }
  if (asked(ATTNPLAN_SECTION_SEQ_LENS)) {
    list->add_ints(ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_EXTENT_REQUESTS,
                   inexact & kSeqInexact ? ATTNPLAN_VALIDITY_BOUND : ATTNPLAN_VALIDITY_EXACT, n,
                   padded_n, c.requests);
  }
  if (asked(ATTNPLAN_SECTION_CONTEXT_LENS)) {
    list->add_ints(ATTNPLAN_SECTION_CONTEXT_LENS, ATTNPLAN_EXTENT_REQUESTS,
                   device_if((inexact & kContextInexact) != 0), n, padded_n, c.requests);
  }
  if (asked(ATTNPLAN_SECTION_ROW_REQUEST)) {
    list->add_ints(ATTNPLAN_SECTION_ROW_REQUEST, ATTNPLAN_EXTENT_ROWS, split, rows, padded_rows,
                   c.rows);
  }
  if (asked(ATTNPLAN_SECTION_ROW_POSITION)) {
    list->add_ints(ATTNPLAN_SECTION_ROW_POSITION, ATTNPLAN_EXTENT_ROWS, device_if(inexact != 0),
                   rows, padded_rows, c.rows);
  }
}

void describe_context_parallel(const Plan* plan, const Planner::State& state, SectionList* list) {
  if ((state.config.sections >> ATTNPLAN_SECTION_CONTEXT_PARALLEL & 1) == 0) return;
  list->add_ints(ATTNPLAN_SECTION_CONTEXT_PARALLEL, ATTNPLAN_EXTENT_ROWS,
                 device_if(plan && plan->inexact != 0), plan ? plan->lanes->rows : 0,
                 plan ? plan->padded_rows : 0, state.capacity.rows);
}

void write_requests(const Plan& plan, const SectionSpec& spec, std::byte* bytes) {
  auto* const out = reinterpret_cast<int32_t*>(bytes);
  switch (spec.id) {
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      return write_query_start_loc(plan, spec, out);
    case ATTNPLAN_SECTION_SEQ_LENS:
      return write_seq_lens(plan, spec, out);
    case ATTNPLAN_SECTION_CONTEXT_LENS:
      return write_context_lens(plan, spec, out);
    case ATTNPLAN_SECTION_ROW_REQUEST:
      return write_row_request(plan, spec, out);
    case ATTNPLAN_SECTION_ROW_POSITION:
      return write_row_position(plan, spec, out);
    case ATTNPLAN_SECTION_CONTEXT_PARALLEL:
      return write_context_parallel(plan, spec, out);
  }
}

}  // namespace attnplan
