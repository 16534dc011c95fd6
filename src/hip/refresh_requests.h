// Sections with elements a request, a row, a page or a local piece: one walk over all requests, as
// many at a time as the block has threads. Every block of the grid walks, because each needs the
// sums in front; elements are dealt out to the blocks.
#pragma once

#include <cstdint>

#include "hip/block_scan.h"
#include "hip/refresh_step.h"

namespace attnplan::hip {

// Requests of one round, in shared memory.
struct RefreshRound {
  SharedArray<int32_t, kRefreshMaxThreads> request, query_len, seq_len, context, is_cut;
  SharedArray<int32_t, kRefreshMaxThreads> first_row, first_page, first_piece;
};

// The last of `count` ascending starts that is not behind `at`; starts.load(0) <= at.
template <class Starts>
ATTNPLAN_DEVICE int32_t owner_of(const Starts& starts, int32_t count, int32_t at) {
  int32_t low = 0, high = count - 1;
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (starts.load(middle) <= at) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Pieces of a request under chunked local attention: rows with keys, cut at multiples of the chunk,
// then the rows that a cut left without any.
struct LocalPieces {
  int64_t begin, keyless, end;  // positions
  int64_t chunk;

  ATTNPLAN_DEVICE LocalPieces(const RequestLengths& lengths, int32_t local_chunk)
      : begin(lengths.context_in_cache()), end(begin + lengths.query_len), chunk(local_chunk) {
    keyless = lengths.is_cut ? at_most(at_least<int64_t>(lengths.seq_len, begin), end) : end;
  }
  ATTNPLAN_DEVICE int64_t with_keys() const {
    return begin < keyless ? (keyless - 1) / chunk - begin / chunk + 1 : 0;
  }
  ATTNPLAN_DEVICE int64_t count() const { return with_keys() + (keyless < end ? 1 : 0); }
  ATTNPLAN_DEVICE attnplan_local_batch piece(int64_t number, int32_t position,
                                             int32_t block_size) const {
    if (number >= with_keys()) return {static_cast<int32_t>(end - keyless), 0, position, 0};
    const int64_t chunk_begin = (begin / chunk + number) * chunk;
    const int64_t from = at_least(begin, chunk_begin);
    const int64_t to = at_most(keyless, chunk_begin + chunk);
    return {static_cast<int32_t>(to - from), static_cast<int32_t>(to - chunk_begin), position,
            static_cast<int32_t>(chunk_begin / block_size)};
  }
};

template <class Arch>
class RefreshRequests {
 public:
  ATTNPLAN_DEVICE RefreshRequests(const RefreshStep& step, const RefreshPads& pads,
                                  const PlanReader& plan, RefreshRound* round, BlockTotals* totals)
      : step_(step),
        args_(step.args()),
        pads_(pads),
        plan_(plan),
        round_(*round),
        totals_(totals) {}

  // Returns the thread's RefreshStatus bits, the same from every block.
  ATTNPLAN_DEVICE uint32_t run() {
    const int32_t n = step_.num_reqs();
    if (is_first_thread()) open<int32_t>(ATTNPLAN_SECTION_PAGE_INDPTR).put(0, 0);
    for (int32_t begin = 0; begin < n; begin += block_threads()) {
      count_ = at_most(n - begin, block_threads());
      begin_ = begin;
      load();
      if (block_index() == begin / block_threads() % grid_blocks()) write_requests();
      write_rows();
      write_pages();
      write_page_table();
      write_pieces();
      block_barrier();  // before the round is written over
      rows_ = rows_end_;
      pages_ = pages_end_;
      pieces_ = pieces_end_;
    }
    finish();
    return status_;
  }

 private:
  template <class T>
  ATTNPLAN_DEVICE Section<T> open(int32_t id) const {
    const bool wanted = args_.sections == 0 || (args_.sections >> id & 1) != 0;
    return wanted ? plan_.find<T>(id) : Section<T>{nullptr, 0, 0};
  }
  ATTNPLAN_DEVICE static bool is_first_thread() {
    return block_index() == 0 && thread_index() == 0;
  }
  // This thread among those of the grid.
  ATTNPLAN_DEVICE static int32_t worker() {
    return block_index() * block_threads() + thread_index();
  }
  ATTNPLAN_DEVICE static int32_t workers() { return grid_blocks() * block_threads(); }
  ATTNPLAN_DEVICE RequestLengths of_round(int32_t i) const {
    return {round_.request.load(i), round_.query_len.load(i), round_.seq_len.load(i),
            round_.context.load(i), round_.is_cut.load(i),    0};
  }
  ATTNPLAN_DEVICE int32_t local_block_size() const {
    return args_.block_size > 0 ? args_.block_size : 1;
  }

  // Lengths of the round's requests, and where their rows, pages and pieces begin.
  ATTNPLAN_DEVICE void load() {
    const int32_t t = thread_index();
    RequestLengths own{0, 0, 0, 0, 0, 0};
    uint32_t pages = 0, pieces = 0;
    if (t < count_) {
      own = step_.lengths(begin_ + t);
      status_ |= own.status;
      if (args_.page_size > 0) {
        pages = own.query_len > 0 ? static_cast<uint32_t>(ceil_div(own.seq_len, args_.page_size))
                                  : pads_.is_full(begin_ + t);
      }
      if (args_.local_chunk > 0) {
        pieces = static_cast<uint32_t>(LocalPieces(own, args_.local_chunk).count());
      }
    }
    const ScanResult rows = scan_counts<Arch>(static_cast<uint32_t>(own.query_len), totals_);
    const ScanResult page = scan_counts<Arch>(pages, totals_);
    const ScanResult piece = scan_counts<Arch>(pieces, totals_);
    rows_end_ = add_counts(rows_, rows.total);
    pages_end_ = add_counts(pages_, page.total);
    pieces_end_ = add_counts(pieces_, piece.total);
    if (t < count_) {
      round_.request.store(t, own.request);
      round_.query_len.store(t, own.query_len);
      round_.seq_len.store(t, own.seq_len);
      round_.context.store(t, own.context);
      round_.is_cut.store(t, own.is_cut);
      round_.first_row.store(t, static_cast<int32_t>(add_counts(rows_, rows.before)));
      round_.first_page.store(t, static_cast<int32_t>(add_counts(pages_, page.before)));
      round_.first_piece.store(t, static_cast<int32_t>(add_counts(pieces_, piece.before)));
    }
    block_barrier();
  }

  ATTNPLAN_DEVICE void write_requests() const {
    const int32_t t = thread_index(), position = begin_ + t;
    if (t >= count_) return;
    const RequestLengths own = of_round(t);
    const bool full_pad = own.query_len == 0 && pads_.is_full(position);
    const int32_t tokens = full_pad ? 1 : own.seq_len;
    open<int32_t>(ATTNPLAN_SECTION_SEQ_LENS).put(position, tokens);
    open<int32_t>(ATTNPLAN_SECTION_CONTEXT_LENS).put(position, own.context);
    if (args_.page_size > 0) {
      open<int32_t>(ATTNPLAN_SECTION_LAST_PAGE_LEN)
          .put(position, tokens > 0 ? (tokens - 1) % args_.page_size + 1 : 0);
      open<int32_t>(ATTNPLAN_SECTION_PAGE_INDPTR).put(position + 1, pages_behind(t));
    }
    write_starts(position, round_.first_row.load(t), own.query_len);
  }
  // Where the pages of the round's request end, inside the list.
  ATTNPLAN_DEVICE int32_t pages_behind(int32_t i) const {
    const int32_t end =
        i + 1 < count_ ? round_.first_page.load(i + 1) : static_cast<int32_t>(pages_end_);
    const auto list = plan_.find<int32_t>(ATTNPLAN_SECTION_PAGE_INDICES);
    return list ? static_cast<int32_t>(at_most<int64_t>(end, list.capacity)) : end;
  }
  // Starts count from the first row of the segment, and stay inside it.
  ATTNPLAN_DEVICE void write_starts(int32_t position, int64_t first_row, int32_t rows) const {
    const auto starts = open<int32_t>(ATTNPLAN_SECTION_QUERY_START_LOC);
    if (!starts) return;
    const auto segments = plan_.find<const attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS);
    for (int32_t i = 0; i < segments.count; ++i) {
      const attnplan_segment& s = segments.data[i];
      if (position < s.req_begin || position >= s.req_end) continue;
      const int64_t most = s.row_end - s.row_begin;
      const int64_t begin = at_most(at_least<int64_t>(first_row - s.row_begin, 0), most);
      const int64_t end = at_most(at_least<int64_t>(first_row + rows - s.row_begin, 0), most);
      const int32_t at = s.query_start_loc_begin + position - s.req_begin;
      starts.put(at, static_cast<int32_t>(begin));
      if (position == s.req_end - 1) starts.put(at + 1, static_cast<int32_t>(end));
    }
  }

  ATTNPLAN_DEVICE void write_rows() const {
    const auto owner = open<int32_t>(ATTNPLAN_SECTION_ROW_REQUEST);
    const auto positions = open<int32_t>(ATTNPLAN_SECTION_ROW_POSITION);
    const auto slots = open<int64_t>(ATTNPLAN_SECTION_SLOTS);
    const auto seen = open<int32_t>(ATTNPLAN_SECTION_CONTEXT_PARALLEL);
    if (!owner && !positions && !slots && !seen) return;
    const int64_t end = at_most<int64_t>(rows_end_, step_.num_rows());
    for (int64_t row = int64_t{rows_} + worker(); row < end; row += workers()) {
      const auto at = static_cast<int32_t>(row);
      const int32_t i = owner_of(round_.first_row, count_, at);
      const RequestLengths own = of_round(i);
      const int32_t number = at - round_.first_row.load(i), position = own.context + number;
      owner.put(at, begin_ + i);
      positions.put(at, own.is_cut && position >= own.seq_len ? -1 : position);
      if (slots) write_slot(slots, at, own, number);
      if (seen) seen.put(at, tokens_seen(own, position));
    }
  }
  ATTNPLAN_DEVICE void write_slot(const Section<int64_t>& slots, int32_t row,
                                  const RequestLengths& own, int32_t number) const {
    const int32_t position = own.context + number;
    if (args_.slot_mapping != nullptr) {
      const bool outside = own.is_cut && position >= own.seq_len;
      slots.put(row, outside ? -1 : step_.given_slot(own.request, number));
    } else if (args_.table != TableKind::kNone) {
      slots.put(row, position >= own.seq_len ? -1 : step_.slot_at(own.request, position));
    }
  }
  // Tokens are dealt out to the ranks in runs; how many of this one's the row may see.
  ATTNPLAN_DEVICE int32_t tokens_seen(const RequestLengths& own, int32_t position) const {
    int64_t seen = own.seq_len;
    if ((args_.flags & kRefreshCausal) != 0) seen = at_most<int64_t>(seen, int64_t{position} + 1);
    const int64_t run = at_least(args_.context_interleave, 1);
    const int64_t round = run * at_least(args_.context_world, 1);
    const int64_t rest = seen % round - args_.context_rank * run;
    return static_cast<int32_t>(seen / round * run + at_most(at_least<int64_t>(rest, 0), run));
  }

  ATTNPLAN_DEVICE void write_pages() const {
    const auto list = open<int32_t>(ATTNPLAN_SECTION_PAGE_INDICES);
    if (!list || args_.table == TableKind::kNone || args_.page_size == 0) return;
    const int64_t end = at_most<int64_t>(pages_end_, list.capacity);
    for (int64_t page = int64_t{pages_} + worker(); page < end; page += workers()) {
      const auto at = static_cast<int32_t>(page);
      const int32_t i = owner_of(round_.first_page, count_, at);
      const int32_t number = at - round_.first_page.load(i);
      const bool pad = round_.query_len.load(i) == 0;  // of full width: any page of the cache
      list.data[page] = pad ? 0 : step_.page_id(round_.request.load(i), number);
    }
  }

  // Pages of whole blocks, as the planner writes them; -1 behind.
  ATTNPLAN_DEVICE void write_page_table() const {
    const auto table = open<int32_t>(ATTNPLAN_SECTION_PAGE_TABLE);
    const int32_t width = plan_.header().page_table_width;
    if (!table || args_.table == TableKind::kNone || args_.page_size == 0 || width == 0) return;
    const int32_t parts = static_cast<int32_t>(ceil_div(width, block_threads()));
    const int64_t units = int64_t{count_} * parts;
    for (int64_t unit = block_index(); unit < units; unit += grid_blocks()) {
      const auto i = static_cast<int32_t>(unit / parts);
      const int64_t page = (unit - int64_t{i} * parts) * block_threads() + thread_index();
      if (page >= width) continue;
      const bool full_pad = round_.query_len.load(i) == 0 && pads_.is_full(begin_ + i);
      const int64_t blocks = ceil_div(round_.seq_len.load(i), args_.block_size);
      int32_t id = full_pad && page == 0 ? 0 : -1;
      if (page < blocks * args_.pages_per_block) {
        id = step_.page_id(round_.request.load(i), static_cast<int32_t>(page));
      }
      table.put(int64_t{begin_ + i} * width + page, id);
    }
  }

  ATTNPLAN_DEVICE void write_pieces() const {
    const auto list = open<attnplan_local_batch>(ATTNPLAN_SECTION_LOCAL);
    if (!list || args_.local_chunk == 0) return;
    const int64_t end = at_most<int64_t>(pieces_end_, list.capacity);
    for (int64_t piece = int64_t{pieces_} + worker(); piece < end; piece += workers()) {
      const auto at = static_cast<int32_t>(piece);
      const int32_t i = owner_of(round_.first_piece, count_, at);
      const LocalPieces pieces(of_round(i), args_.local_chunk);
      list.data[piece] =
          pieces.piece(at - round_.first_piece.load(i), begin_ + i, local_block_size());
    }
  }

  // What lies behind the last request, and the lengths of lists.
  ATTNPLAN_DEVICE void finish() {
    if (static_cast<int32_t>(rows_) != step_.num_rows()) status_ |= kRefreshRowCount;
    for (int64_t row = int64_t{rows_} + worker(); row < step_.num_rows(); row += workers()) {
      open<int32_t>(ATTNPLAN_SECTION_ROW_REQUEST).put(row, -1);
      open<int32_t>(ATTNPLAN_SECTION_ROW_POSITION).put(row, -1);
      open<int64_t>(ATTNPLAN_SECTION_SLOTS).put(row, -1);
      open<int32_t>(ATTNPLAN_SECTION_CONTEXT_PARALLEL).put(row, -1);
    }
    if (args_.page_size > 0) finish_pages();
    const auto pieces = open<attnplan_local_batch>(ATTNPLAN_SECTION_LOCAL);
    if (pieces && args_.local_chunk > 0) {
      set_count(ATTNPLAN_SECTION_LOCAL, pieces_, pieces.capacity);
    }
  }
  ATTNPLAN_DEVICE void finish_pages() {
    const int32_t n = step_.num_reqs();
    const int32_t first_pad = at_least(pads_.first, n);
    const auto indptr = open<int32_t>(ATTNPLAN_SECTION_PAGE_INDPTR);
    const auto list = open<int32_t>(ATTNPLAN_SECTION_PAGE_INDICES);
    const int64_t room = list ? list.capacity : INT32_MAX;
    const int64_t last = at_most<int64_t>(pages_, room);
    for (int32_t i = n + worker(); i < pads_.padded_requests; i += workers()) {
      const int64_t full = at_least(at_most(i + 1, pads_.end) - first_pad, 0);
      indptr.put(i + 1, static_cast<int32_t>(at_most(last + full, room)));
    }
    if (!list || args_.table == TableKind::kNone) return;
    for (int32_t i = first_pad + worker(); i < pads_.end; i += workers()) {
      list.put(int64_t{pages_} + i - first_pad, 0);
    }
    set_count(ATTNPLAN_SECTION_PAGE_INDICES, pages_, list.capacity);
  }
  ATTNPLAN_DEVICE void set_count(int32_t section, int64_t count, int64_t capacity) {
    if (count > capacity) status_ |= kRefreshCapacity;
    if (is_first_thread()) plan_.set_count(section, at_most(count, capacity));
  }

  const RefreshStep& step_;
  const RefreshArgs& args_;
  const RefreshPads& pads_;
  const PlanReader& plan_;
  RefreshRound& round_;
  BlockTotals* totals_;
  int32_t begin_ = 0, count_ = 0;               // of the round
  uint32_t rows_ = 0, pages_ = 0, pieces_ = 0;  // in front of the round
  uint32_t rows_end_ = 0, pages_end_ = 0, pieces_end_ = 0;
  uint32_t status_ = 0;
};

}  // namespace attnplan::hip
