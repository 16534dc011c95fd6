// Page lists, page tables, slots and context chunks. Which pages and slots of the cache they name
// is the engine's own knowledge: a plan says how many there are and whose.
#include <algorithm>

#include "planner/verify_checks.h"

namespace attnplan {
namespace {

bool check_page_indptr(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_PAGE_INDPTR;
  if (!blob.has(kSection)) return true;
  const int64_t n = blob.requests, padded = blob.padded_requests;
  if (!check_extent(blob, kSection, n + 1, padded + 1, checks)) return false;
  const bool listed = blob.has(ATTNPLAN_SECTION_PAGE_INDICES);
  const attnplan_section* list = blob.plan.find(ATTNPLAN_SECTION_PAGE_INDICES);
  const auto room = blob.room<int32_t>(kSection);
  const bool device = blob.device(kSection);
  int64_t before = 0;
  for (int64_t i = 0; i <= padded; ++i) {
    const int64_t start = room[static_cast<size_t>(i)];
    if (device && i > 0 && start == -1) continue;
    const int64_t most = i == 0 ? 0 : !listed ? INT32_MAX : i <= n ? list->count : list->capacity;
    const int64_t least = i == n && listed && !device ? list->count : before;
    if (!checks->in(at(kSection, i), "start", start, least, most)) return false;
    before = start;
  }
  return true;
}

// With the planner's page size, and lengths to compare with: as many pages as the tokens fill.
bool check_page_counts(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_PAGE_INDPTR;
  const auto starts = blob.ints(kSection), seq_lens = blob.ints(ATTNPLAN_SECTION_SEQ_LENS);
  const bool known = blob.state != nullptr && blob.state->view.has_value();
  if (!known || blob.device(kSection) || starts.empty() || seq_lens.empty()) return true;
  const int64_t page = blob.state->view->page_size;
  for (size_t i = 0; i < seq_lens.size(); ++i) {
    const int64_t pages = int64_t{starts[i + 1]} - starts[i];
    if (!checks->is(at(kSection, static_cast<int64_t>(i)), "pages from here", pages,
                    (seq_lens[i] + page - 1) / page)) {
      return false;
    }
  }
  return true;
}

bool check_last_pages(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_LAST_PAGE_LEN;
  if (!blob.has(kSection)) return true;
  if (!check_extent(blob, kSection, blob.requests, blob.padded_requests, checks)) return false;
  const auto room = blob.room<int32_t>(kSection);
  const int64_t low = blob.device(kSection) ? -1 : 0;
  const bool known = blob.state != nullptr && blob.state->view.has_value();
  for (int64_t i = 0; i < blob.padded_requests; ++i) {
    const attnplan_segment* s = i < blob.requests ? blob.segment_of(i) : nullptr;
    const int64_t page = known ? blob.state->view->page_size : INT32_MAX;
    const int64_t most = s == nullptr ? 1 : std::min<int64_t>(page, s->max_seq_len);
    if (!checks->in(at(kSection, i), "tokens", room[static_cast<size_t>(i)], low, most)) {
      return false;
    }
  }
  return true;
}

// One set for every extend segment, chunk after chunk.
bool check_chunk_sets(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_CHUNKS;
  const auto sets = blob.plan.values<attnplan_chunk_set>(kSection);
  const auto chunks =
      static_cast<int64_t>(blob.plan.values<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST).size());
  size_t next = 0;
  int64_t begin = 0;
  for (size_t s = 0; s < blob.segments.size(); ++s) {
    if (blob.segments[s].route != static_cast<int32_t>(Route::kExtend)) continue;
    if (next == sets.size()) return checks->wrong(at(kSection), "lacks a segment's set");
    const attnplan_chunk_set& set = sets[next];
    const Place place = at(kSection, static_cast<int64_t>(next++));
    if (!checks->is(place, "segment", set.segment, static_cast<int64_t>(s)) ||
        !checks->is(place, "chunk_begin", set.chunk_begin, begin) ||
        !checks->in(place, "num_chunks", set.num_chunks, 0, chunks - begin) ||
        !checks->in(place, "chunk_tokens", set.chunk_tokens, set.num_chunks > 0, INT32_MAX)) {
      return false;
    }
    begin += set.num_chunks;
  }
  return checks->is(at(kSection), "count", static_cast<int64_t>(sets.size()),
                    static_cast<int64_t>(next)) &&
         checks->is(at(ATTNPLAN_SECTION_CHUNK_LIST), "count", chunks, begin);
}

// Walks all chunks in the order of their lists.
class ChunkWalk {
 public:
  ChunkWalk(const Blob& blob, Checks* checks)
      : blob_(blob),
        checks_(*checks),
        starts_(blob.ints(ATTNPLAN_SECTION_CHUNK_CU_LENS)),
        owners_(blob.ints(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST)),
        mapped_(blob.has(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST)) {}

  bool run() {
    const auto chunks = blob_.plan.values<attnplan_chunk>(ATTNPLAN_SECTION_CHUNK_LIST);
    for (const attnplan_chunk_set& set :
         blob_.plan.values<attnplan_chunk_set>(ATTNPLAN_SECTION_CHUNKS)) {
      const attnplan_segment& s = blob_.segments[static_cast<size_t>(set.segment)];
      for (int64_t k = set.chunk_begin; k < int64_t{set.chunk_begin} + set.num_chunks; ++k) {
        if (!check(set, s, chunks[static_cast<size_t>(k)], k)) return false;
      }
    }
    return checks_.is(at(ATTNPLAN_SECTION_CHUNK_CU_LENS), "count",
                      static_cast<int64_t>(starts_.size()), next_start_) &&
           (!mapped_ || checks_.is(at(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST), "count",
                                   static_cast<int64_t>(owners_.size()), next_token_));
  }

 private:
  bool check(const attnplan_chunk_set& set, const attnplan_segment& s, const attnplan_chunk& chunk,
             int64_t index) {
    const Place place = at(ATTNPLAN_SECTION_CHUNK_LIST, index);
    const int64_t requests = int64_t{s.req_end} - s.req_begin;
    const int64_t token_begin = next_token_ < INT32_MAX ? next_token_ : INT32_MAX;
    if (!checks_.in(place, "max_len", chunk.max_len, 0, set.chunk_tokens) ||
        !checks_.in(place, "total", chunk.total, chunk.max_len, requests * chunk.max_len) ||
        !checks_.is(place, "cu_lens_begin", chunk.cu_lens_begin, next_start_) ||
        !checks_.is(place, "token_begin", chunk.token_begin, token_begin) ||
        !checks_.in(place, "cu_lens_begin", next_start_ + requests + 1, 0,
                    static_cast<int64_t>(starts_.size()))) {
      return false;
    }
    if (mapped_ && !checks_.in(place, "end of its tokens", next_token_ + chunk.total, 0,
                               static_cast<int64_t>(owners_.size()))) {
      return false;
    }
    return check_starts(s, chunk);
  }

  bool check_starts(const attnplan_segment& s, const attnplan_chunk& chunk) {
    int64_t before = 0;
    for (int64_t position = int64_t{s.req_begin} - 1; position < s.req_end; ++position) {
      const Place place = at(ATTNPLAN_SECTION_CHUNK_CU_LENS, next_start_);
      const int64_t start = starts_[static_cast<size_t>(next_start_++)];
      const bool first = position < s.req_begin, last = position + 1 == s.req_end;
      if (!checks_.in(place, "start", start, last ? chunk.total : before,
                      first ? 0 : before + chunk.max_len)) {
        return false;
      }
      for (int64_t token = before; mapped_ && token < start; ++token) {
        const Place owner = at(ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST, next_token_ + token);
        if (!checks_.is(owner, "request", owners_[static_cast<size_t>(owner.index)], position)) {
          return false;
        }
      }
      before = start;
    }
    next_token_ += chunk.total;
    return checks_.is(at(ATTNPLAN_SECTION_CHUNK_CU_LENS, next_start_ - 1), "start", before,
                      chunk.total);
  }

  const Blob& blob_;
  Checks& checks_;
  std::span<const int32_t> starts_;
  std::span<const int32_t> owners_;
  bool mapped_;
  int64_t next_start_ = 0;
  int64_t next_token_ = 0;
};

bool check_skip_merge(const Blob& blob, Checks* checks) {
  constexpr int32_t kSection = ATTNPLAN_SECTION_CHUNK_SKIP_MERGE;
  if (!check_extent(blob, kSection, blob.requests, blob.requests, checks)) return false;
  int64_t i = 0;
  for (const int32_t skip : blob.ints(kSection)) {
    if (!checks->in(at(kSection, i++), "flag", skip, 0, 1)) return false;
  }
  return true;
}

}  // namespace

bool check_pages(const Blob& blob, Checks* checks) {
  const int64_t width = blob.header.page_table_width;
  return check_page_indptr(blob, checks) && check_page_counts(blob, checks) &&
         check_last_pages(blob, checks) &&
         check_extent(blob, ATTNPLAN_SECTION_PAGE_TABLE, blob.requests * width,
                      blob.padded_requests * width, checks) &&
         check_extent(blob, ATTNPLAN_SECTION_SLOTS, blob.rows, blob.padded_rows, checks);
}

bool check_chunks(const Blob& blob, Checks* checks) {
  if (!blob.has(ATTNPLAN_SECTION_CHUNKS)) {
    for (int32_t id = ATTNPLAN_SECTION_CHUNK_LIST; id <= ATTNPLAN_SECTION_CHUNK_TOKEN_TO_REQUEST;
         ++id) {
      if (blob.has(id)) return checks->wrong(at(id), "stands without chunks");
    }
    return true;
  }
  return check_chunk_sets(blob, checks) && ChunkWalk(blob, checks).run() &&
         check_skip_merge(blob, checks);
}

}  // namespace attnplan
