// Context chunks as CSR over chunk and request, and, asked for alone, the dense map.
#include <algorithm>
#include <cstring>

#include "planner/chunks.h"
#include "planner/sections.h"

namespace attnplan {
namespace {

const attnplan_segment& segment_of(const Plan& plan, const attnplan_chunk_set& set) {
  return plan.parts->segments[static_cast<size_t>(set.segment)];
}

// Calls visit(position, tokens) for every chunk and request, begin(chunk) before each chunk.
template <typename Begin, typename Visit>
void for_each_piece(const Plan& plan, Begin begin, Visit visit) {
  for (const attnplan_chunk_set& set : plan.parts->chunk_sets) {
    const attnplan_segment& segment = segment_of(plan, set);
    for (int32_t k = 0; k < set.num_chunks; ++k) {
      begin();
      for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
        visit(i, chunk_len(plan, i, set.chunk_tokens, k));
      }
    }
  }
}

void write_skip_merge(const Plan& plan, int32_t* out) {
  std::fill_n(out, plan.lanes->n, 1);
  for (const attnplan_chunk_set& set : plan.parts->chunk_sets) {
    const attnplan_segment& segment = segment_of(plan, set);
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      out[i] = plan.lanes->query_lens[i] == 0 || plan.context_in_cache(i) == 0;
    }
  }
}

void write_chunk_list(const Plan& plan, attnplan_chunk* out) {
  int64_t starts = 0, tokens = 0;
  for (const attnplan_chunk_set& set : plan.parts->chunk_sets) {
    const attnplan_segment& segment = segment_of(plan, set);
    for (int32_t k = 0; k < set.num_chunks; ++k) {
      // Without the map, which plan_chunks keeps within an index, nothing begins at a token.
      attnplan_chunk chunk{0, 0, static_cast<int32_t>(starts),
                           static_cast<int32_t>(std::min<int64_t>(tokens, INT32_MAX))};
      for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
        const int32_t len = chunk_len(plan, i, set.chunk_tokens, k);
        chunk.total += len;
        chunk.max_len = std::max(chunk.max_len, len);
      }
      starts += segment.req_end - segment.req_begin + 1;
      tokens += chunk.total;
      *out++ = chunk;
    }
  }
}

}  // namespace

void describe_chunks(const Plan* plan, const Planner::State& state, SectionList* list) {
  const auto asked = [&state](int32_t id) { return (state.config.sections >> id & 1) != 0; };
  const bool dense = asked(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST);
  if (!asked(ATTNPLAN_SECTION_CHUNKS) && !dense) return;
  const Capacity& c = state.capacity;
  const uint8_t validity = device_if(plan && (plan->inexact & kContextInexact) != 0);
  const auto ints = [&](int32_t id, uint8_t extent, int64_t count, int64_t capacity) {
    list->add_ints(id, extent, validity, count, count, capacity);
  };
  const ChunkTotals totals = plan ? plan->chunk_totals : ChunkTotals{};
  list->add_records<attnplan_chunk_set>(
      ATTNPLAN_SECTION_CHUNKS, ATTNPLAN_TYPE_CHUNK_SET,
      plan ? static_cast<int64_t>(plan->parts->chunk_sets.size()) : 0, c.segments);
  list->add_records<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST, ATTNPLAN_TYPE_CHUNK, totals.chunks,
                                    c.chunks);
  list->last().validity = validity;
  // Every chunk holds at most all requests and one more start.
  ints(ATTNPLAN_SECTION_CHUNK_CU_LENS, ATTNPLAN_EXTENT_OTHER, totals.starts,
       product(c.chunks, c.requests + 1));
  ints(ATTNPLAN_SECTION_CHUNK_SKIP_MERGE, ATTNPLAN_EXTENT_REQUESTS, plan ? plan->lanes->n : 0,
       c.requests);
  if (dense) {
    ints(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, ATTNPLAN_EXTENT_OTHER, totals.tokens,
         c.chunk_tokens);
  }
}

void write_chunks(const Plan& plan, const SectionSpec& spec, std::byte* bytes) {
  auto* out = reinterpret_cast<int32_t*>(bytes);
  switch (spec.id) {
    case ATTNPLAN_SECTION_CHUNKS:
      std::memcpy(bytes, plan.parts->chunk_sets.data(),
                  static_cast<size_t>(spec.count) * sizeof(attnplan_chunk_set));
      return;
    case ATTNPLAN_SECTION_CHUNK_LIST:
      return write_chunk_list(plan, reinterpret_cast<attnplan_chunk*>(bytes));
    case ATTNPLAN_SECTION_CHUNK_CU_LENS: {
      int32_t sum = 0;
      return for_each_piece(
          plan, [&] { *out++ = sum = 0; },
          [&](int32_t, int32_t tokens) { *out++ = sum += tokens; });
    }
    case ATTNPLAN_SECTION_CHUNK_SKIP_MERGE:
      return write_skip_merge(plan, out);
    case ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST:
      return for_each_piece(
          plan, [] {},
          [&](int32_t position, int32_t tokens) { out = std::fill_n(out, tokens, position); });
  }
}

}  // namespace attnplan
