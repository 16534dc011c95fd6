// What follows from the lengths of one segment's requests: its figures, the chunks of its context,
// what it fetches under a window. Each is one walk over these requests, by one block.
#pragma once

#include <cstdint>

#include "hip/block_scan.h"
#include "hip/refresh_requests.h"
#include "hip/refresh_step.h"

namespace attnplan::hip {

template <class Arch>
class RefreshSegments {
 public:
  ATTNPLAN_DEVICE RefreshSegments(const RefreshStep& step, const PlanReader& plan,
                                  RefreshRound* round, BlockTotals* totals)
      : step_(step),
        args_(step.args()),
        plan_(plan),
        round_(*round),
        totals_(totals),
        segments_(plan.find<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS)) {}

  // Returns the thread's RefreshStatus bits, complete in the first block.
  ATTNPLAN_DEVICE uint32_t run() {
    for (int32_t i = 0; i < segments_.count; ++i) {
      if (wants(ATTNPLAN_SECTION_SEGMENTS) && is_mine(i)) write_figures(&segments_.data[i]);
    }
    if (wants(ATTNPLAN_SECTION_SEGMENTS) && block_index() == 0) write_maxima();
    if (wants(ATTNPLAN_SECTION_WINDOW) && is_mine(1)) write_window();
    if (wants(ATTNPLAN_SECTION_CHUNKS)) write_chunks();
    return status_;
  }

 private:
  ATTNPLAN_DEVICE bool wants(int32_t id) const {
    return args_.sections == 0 || (args_.sections >> id & 1) != 0;
  }
  // Walks are dealt out to the blocks.
  ATTNPLAN_DEVICE static bool is_mine(int32_t walk) {
    return block_index() == walk % grid_blocks();
  }

  // All threads; `visit` sees a pad as a request without tokens.
  template <class Visit>
  ATTNPLAN_DEVICE void each_live(const attnplan_segment& s, Visit visit) const {
    for (int32_t p = s.req_begin + thread_index(); p < s.req_end; p += block_threads()) {
      const RequestLengths lengths = step_.lengths(p);
      if (lengths.query_len > 0) visit(p, lengths);
    }
  }

  ATTNPLAN_DEVICE void write_figures(attnplan_segment* out) const {
    int64_t max_query = 0, min_query = INT32_MAX, max_seq = 0, min_seq = INT32_MAX;
    int64_t max_context = 0, min_context = INT32_MAX, sum_seq = 0, sum_context = 0;
    each_live(*out, [&](int32_t, const RequestLengths& l) {
      max_query = at_least<int64_t>(max_query, l.query_len);
      min_query = at_most<int64_t>(min_query, l.query_len);
      max_seq = at_least<int64_t>(max_seq, l.seq_len);
      min_seq = at_most<int64_t>(min_seq, l.seq_len);
      max_context = at_least<int64_t>(max_context, l.context);
      min_context = at_most<int64_t>(min_context, l.context);
      sum_seq += l.seq_len;
      sum_context += l.context;
    });
    max_query = reduce_block<Arch>(max_query, Most(), totals_);
    min_query = reduce_block<Arch>(min_query, Least(), totals_);
    max_seq = reduce_block<Arch>(max_seq, Most(), totals_);
    min_seq = reduce_block<Arch>(min_seq, Least(), totals_);
    max_context = reduce_block<Arch>(max_context, Most(), totals_);
    min_context = reduce_block<Arch>(min_context, Least(), totals_);
    sum_seq = reduce_block<Arch>(sum_seq, Sum(), totals_);
    sum_context = reduce_block<Arch>(sum_context, Sum(), totals_);
    if (thread_index() != 0) return;
    const bool none = max_query == 0;  // only where the lengths are not those of the plan
    out->max_query_len = static_cast<int32_t>(max_query);
    out->min_query_len = none ? 0 : static_cast<int32_t>(min_query);
    out->max_seq_len = static_cast<int32_t>(max_seq);
    out->min_seq_len = none ? 0 : static_cast<int32_t>(min_seq);
    out->max_context_len = static_cast<int32_t>(max_context);
    out->min_context_len = none ? 0 : static_cast<int32_t>(min_context);
    out->sum_seq_lens = sum_seq;
    out->sum_context_lens = sum_context;
  }

  // Of the header: the longest query of each route.
  ATTNPLAN_DEVICE void write_maxima() const {
    int64_t longest[kNumRoutes] = {0, 0, 0, 0};
    for (int32_t i = 0; i < segments_.count; ++i) {
      const attnplan_segment& s = segments_.data[i];
      int64_t own = 0;
      each_live(
          s, [&](int32_t, const RequestLengths& l) { own = at_least<int64_t>(own, l.query_len); });
      own = reduce_block<Arch>(own, Most(), totals_);
      ATTNPLAN_UNROLL for (int route = 0; route < kNumRoutes; ++route) {
        if (route == s.route) longest[route] = at_least(longest[route], own);
      }
    }
    if (thread_index() != 0) return;
    attnplan_plan_header& header = plan_.header();
    header.max_decode_query_len = static_cast<int32_t>(longest[1]);
    header.max_extend_query_len = static_cast<int32_t>(longest[kExtend]);
    header.max_prefill_query_len = static_cast<int32_t>(longest[3]);
  }

  // First token that a live request has to fetch.
  ATTNPLAN_DEVICE int32_t window_start(const RequestLengths& l) const {
    if (args_.sliding_window == 0) return 0;
    return static_cast<int32_t>(
        at_least<int64_t>(0, int64_t{l.context_in_cache()} - args_.sliding_window + 1));
  }

  ATTNPLAN_DEVICE void write_window() const {
    const auto window = plan_.find<attnplan_window>(ATTNPLAN_SECTION_WINDOW);
    const auto starts = plan_.find<int32_t>(ATTNPLAN_SECTION_WINDOW_START);
    const auto ends = plan_.find<int32_t>(ATTNPLAN_SECTION_WINDOW_CU_LEN);
    if (!window) return;
    int64_t max_len = 0, sum = 0;
    int32_t index = 0;
    uint32_t carry = 0;
    if (thread_index() == 0) ends.put(0, 0);
    for (int32_t number = 0; number < segments_.count; ++number) {
      const attnplan_segment& s = segments_.data[number];
      if (s.route != kExtend) continue;
      for (int32_t p = s.req_begin; p < s.req_end; p += block_threads()) {
        const int32_t own = p + thread_index();
        int32_t start = 0, len = 0;
        if (own < s.req_end) {
          const RequestLengths l = step_.lengths(own);
          if (l.query_len > 0) {
            start = window_start(l);
            len = at_least(l.seq_len - start, 0);
          }
        }
        const ScanResult scan = scan_counts<Arch>(static_cast<uint32_t>(len), totals_);
        max_len = at_least<int64_t>(max_len, len);
        sum += len;
        if (own < s.req_end) {
          const int32_t at = index + own - s.req_begin;
          const uint32_t behind =
              add_counts(add_counts(carry, scan.before), static_cast<uint32_t>(len));
          starts.put(at, start);
          ends.put(at + 1, static_cast<int32_t>(behind));
        }
        carry = add_counts(carry, scan.total);
      }
      index += s.req_end - s.req_begin;
    }
    max_len = reduce_block<Arch>(max_len, Most(), totals_);
    sum = reduce_block<Arch>(sum, Sum(), totals_);
    if (thread_index() != 0) return;
    window.data[0].max_len = static_cast<int32_t>(max_len);
    window.data[0].total = sum;
  }

  // Tokens of the contexts of a segment in its first `limit` tokens each.
  ATTNPLAN_DEVICE int64_t context_below(const attnplan_segment& s, int64_t limit) const {
    int64_t sum = 0;
    each_live(s, [&](int32_t, const RequestLengths& l) {
      sum += at_most<int64_t>(l.context_in_cache(), limit);
    });
    return reduce_block<Arch>(sum, Sum(), totals_);
  }

  ATTNPLAN_DEVICE void write_chunks() {
    const auto sets = plan_.find<const attnplan_chunk_set>(ATTNPLAN_SECTION_CHUNKS);
    if (!sets) return;
    if (block_index() == 0) check_chunks(sets);
    for (int32_t number = 0; number < sets.count; ++number) {
      const attnplan_chunk_set set = sets.data[number];
      const attnplan_segment& s = segments_.data[set.segment];
      if (is_mine(number)) write_skip_merge(s);
      for (int32_t k = 0; k < set.num_chunks; ++k) {
        if (is_mine(set.chunk_begin + k)) write_chunk(sets, number, set, s, k);
      }
    }
  }

  ATTNPLAN_DEVICE static int64_t covered(const attnplan_chunk_set& set) {
    return int64_t{set.chunk_tokens} * set.num_chunks;
  }

  // A longer context than the host thought possible does not fit into its chunks.
  ATTNPLAN_DEVICE void check_chunks(const Section<const attnplan_chunk_set>& sets) {
    int64_t tokens = 0;
    for (int32_t number = 0; number < sets.count; ++number) {
      const attnplan_chunk_set set = sets.data[number];
      const attnplan_segment& s = segments_.data[set.segment];
      each_live(s, [&](int32_t, const RequestLengths& l) {
        if (l.context_in_cache() > covered(set)) status_ |= kRefreshChunks;
      });
      tokens += context_below(s, covered(set));
    }
    const auto map = plan_.find<int32_t>(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST);
    if (!map) return;
    if (tokens > map.capacity) status_ |= kRefreshCapacity;
    if (thread_index() == 0) {
      plan_.set_count(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, at_most(tokens, map.capacity));
    }
  }

  ATTNPLAN_DEVICE void write_skip_merge(const attnplan_segment& s) const {
    const auto skip = plan_.find<int32_t>(ATTNPLAN_SECTION_CHUNK_SKIP_MERGE);
    for (int32_t p = s.req_begin + thread_index(); p < s.req_end; p += block_threads()) {
      const RequestLengths l = step_.lengths(p);
      skip.put(p, l.query_len == 0 || l.context_in_cache() == 0);
    }
  }

  // Tokens in front of chunk k of set `number`, over all sets.
  ATTNPLAN_DEVICE int64_t tokens_before(const Section<const attnplan_chunk_set>& sets,
                                        int32_t number, int32_t k) const {
    int64_t tokens = 0;
    for (int32_t i = 0; i < number; ++i) {
      tokens += context_below(segments_.data[sets.data[i].segment], covered(sets.data[i]));
    }
    const attnplan_chunk_set& set = sets.data[number];
    return tokens + context_below(segments_.data[set.segment], int64_t{set.chunk_tokens} * k);
  }

  ATTNPLAN_DEVICE void write_chunk(const Section<const attnplan_chunk_set>& sets, int32_t number,
                                   const attnplan_chunk_set& set, const attnplan_segment& s,
                                   int32_t k) const {
    const auto list = plan_.find<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST);
    const auto ends = plan_.find<int32_t>(ATTNPLAN_SECTION_CHUNK_CU_LENS);
    const int32_t index = set.chunk_begin + k;
    if (!list || !list.holds(index)) return;
    attnplan_chunk* const chunk = &list.data[index];
    const int64_t token_begin = tokens_before(sets, number, k);
    const int64_t ends_begin = chunk->cu_lens_begin;
    int64_t max_len = 0;
    uint32_t carry = 0;
    if (thread_index() == 0) ends.put(ends_begin, 0);
    for (int32_t first = s.req_begin; first < s.req_end; first += block_threads()) {
      const int32_t own = first + thread_index();
      int64_t len = 0;
      if (own < s.req_end) {
        const RequestLengths l = step_.lengths(own);
        const int64_t left =
            int64_t{l.context_in_cache()} - int64_t{set.chunk_tokens} * k;  // a pad has none
        len = at_most<int64_t>(at_least<int64_t>(left, 0), set.chunk_tokens);
      }
      max_len = at_least(max_len, len);
      const ScanResult scan = scan_counts<Arch>(static_cast<uint32_t>(len), totals_);
      const uint32_t before = add_counts(carry, scan.before);
      const uint32_t behind = add_counts(before, static_cast<uint32_t>(len));
      if (own < s.req_end) {
        ends.put(ends_begin + 1 + own - s.req_begin, static_cast<int32_t>(behind));
      }
      write_token_map(token_begin, first, s.req_end, before, carry, add_counts(carry, scan.total));
      carry = add_counts(carry, scan.total);
    }
    max_len = reduce_block<Arch>(max_len, Most(), totals_);
    if (thread_index() != 0) return;
    chunk->total = static_cast<int32_t>(carry);
    chunk->max_len = static_cast<int32_t>(max_len);
    chunk->token_begin = static_cast<int32_t>(at_most<int64_t>(token_begin, INT32_MAX));
  }

  // Of the requests of one round, whose tokens are [from, to) of the chunk.
  ATTNPLAN_DEVICE void write_token_map(int64_t token_begin, int32_t first, int32_t req_end,
                                       uint32_t own_begin, uint32_t from, uint32_t to) const {
    const auto map = plan_.find<int32_t>(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST);
    if (!map) return;
    const int32_t count = at_most(req_end - first, block_threads());
    if (thread_index() < count) {
      round_.first_row.store(thread_index(), static_cast<int32_t>(own_begin));
    }
    block_barrier();
    const int64_t end = at_most<int64_t>(to, map.capacity - token_begin);
    for (int64_t token = int64_t{from} + thread_index(); token < end; token += block_threads()) {
      map.data[token_begin + token] =
          first + owner_of(round_.first_row, count, static_cast<int32_t>(token));
    }
    block_barrier();
  }

  static constexpr int kExtend = 2, kNumRoutes = 4;  // attnplan_route

  const RefreshStep& step_;
  const RefreshArgs& args_;
  const PlanReader& plan_;
  RefreshRound& round_;
  BlockTotals* totals_;
  Section<attnplan_segment> segments_;
  uint32_t status_ = 0;
};

}  // namespace attnplan::hip
