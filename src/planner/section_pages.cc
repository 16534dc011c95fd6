// Page lists, page tables and slots: block ids expanded to kernel pages. Page j of block b has the
// id b * block_page_stride + j; the stride comes from the cache's layout.
#include <algorithm>

#include "kv/block_table.h"
#include "planner/sections.h"

namespace attnplan {
namespace {

int64_t pages_for(int64_t tokens, int64_t page_size) {
  return (tokens + page_size - 1) / page_size;
}

// Block ids of the request at a plan position.
const int32_t* ids_at(const Plan& plan, int32_t position) {
  return ids_of(*plan.group, plan.lanes->input_request(position));
}

PageShape page_shape(const Plan& plan) {
  const KvView& view = *plan.state->view;
  return {static_cast<int32_t>(view.pages_per_block), static_cast<int32_t>(view.block_page_stride)};
}

// Pages [0, count) of a request, in order. A negative id gives negative pages. Behind them the
// memory up to `end` may be written to: whole vectors are faster, and the next request follows.
int32_t* expand_list(const Isa& isa, PageShape shape, const int32_t* ids, int32_t count,
                     int32_t* out, const int32_t* end) {
  constexpr int64_t kBlocks = 16;
  const int32_t whole = count / shape.pages_per_block, rest = count % shape.pages_per_block;
  const int32_t blocks = whole + (rest > 0);
  const int64_t wide = (blocks + kBlocks - 1) / kBlocks * kBlocks;
  if (wide * shape.pages_per_block <= end - out) {
    isa.expand_ids(shape, ids, blocks, wide, out);
    return out + count;
  }
  isa.expand_ids(shape, ids, whole, whole, out);
  out += whole * shape.pages_per_block;
  for (int32_t j = 0; j < rest; ++j) {
    const auto first = static_cast<uint32_t>(ids[whole]) * static_cast<uint32_t>(shape.stride);
    *out++ = static_cast<int32_t>(first + static_cast<uint32_t>(j));
  }
  return out;
}

void write_page_indptr(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const int32_t page_size = plan.state->view->page_size;
  const int32_t n = plan.lanes->n;
  bool known = true;
  int64_t total = 0;
  out[0] = 0;
  for (int32_t i = 0; i < n; ++i) {
    known &= !plan.seq_inexact(i);
    total += plan.is_full_pad(i) ? 1 : pages_for(plan.max_seq_len(i), page_size);
    out[i + 1] = known ? static_cast<int32_t>(total) : kFill;
  }
  const bool counted = known && plan.pad_width > 0;  // what lies behind is the graph's
  int32_t last = out[n];
  for (int64_t i = n + 1; i < spec.used; ++i) out[i] = counted ? ++last : last;
}

void write_page_indices(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const PageShape shape = page_shape(plan);
  const int32_t page_size = plan.state->view->page_size;
  int32_t* const end = out + spec.used;
  for (int32_t i = 0; i < plan.lanes->n; ++i) {
    if (plan.seq_inexact(i)) break;  // from here on only the device knows where a list begins
    if (plan.is_full_pad(i)) break;  // nothing but pads behind it
    const auto pages = static_cast<int32_t>(pages_for(plan.max_seq_len(i), page_size));
    out = expand_list(*plan.state->isa, shape, ids_at(plan, i), pages, out, end);
  }
  std::fill(out, end, kFill);
  const bool pads = plan.pad_width > 0 && (plan.inexact & kSeqInexact) == 0;
  if (pads) std::fill(out, end, 0);  // one page each, any page of the cache
}

void write_last_page_len(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const int32_t page_size = plan.state->view->page_size;
  for (int32_t i = 0; i < plan.lanes->n; ++i) {
    const int32_t seq_len = plan.max_seq_len(i);
    out[i] = plan.seq_inexact(i) ? kFill
             : seq_len > 0       ? (seq_len - 1) % page_size + 1
                                 : plan.is_full_pad(i);
  }
  std::fill(out + plan.lanes->n, out + spec.used, plan.pad_width > 0 ? 1 : 0);
}

// The entries that the id check covers: those of the host's length.
void write_page_table(const Plan& plan, const SectionSpec& spec, int32_t* out) {
  const Lanes& lanes = *plan.lanes;
  const IdRows rows = {.n = lanes.n,
                       .ids = plan.group->block_ids,
                       .indptr = plan.group->block_indptr,
                       .row_stride = row_stride_of(*plan.group),
                       .columns = plan.group->columns,
                       .order = lanes.order,
                       .query_lens = lanes.query_lens,
                       .seq_lens = lanes.seq_lens,
                       .block_size = plan.state->config.kv_cache->block_size,
                       .num_blocks = plan.state->config.kv_cache->num_blocks};
  const PageShape shape = page_shape(plan);
  const int64_t width = plan.page_table_width;
  int32_t* const table = out;
  if (rows.ids != nullptr) {  // null: nobody lives
    plan.state->isa->expand_rows(rows, shape, width / shape.pages_per_block, out);
    out += lanes.n * width;
  }
  std::fill(out, table + spec.used, kFill);
  if (plan.pad_width == 0 || width == 0) return;
  for (int32_t i = plan.first_graph_pad; i < plan.graph_end; ++i) table[i * width] = 0;
}

// First row of every request in the step's own order, in the scratch.
const int32_t* input_starts(const Plan& plan) {
  const Step& step = *plan.step;
  if (step.query_start_loc != nullptr) return step.query_start_loc;
  int32_t* starts = plan.parts->input_starts.fit(static_cast<size_t>(step.num_reqs) + 1);
  starts[0] = 0;
  for (int32_t i = 0; i < step.num_reqs; ++i) starts[i + 1] = starts[i] + step.query_lens[i];
  return starts;
}

void write_slots(const Plan& plan, const SectionSpec& spec, int64_t* out) {
  const Lanes& lanes = *plan.lanes;
  const KvCache& cache = *plan.state->config.kv_cache;
  const Group& group = *plan.group;
  const int32_t* starts = group.slot_mapping != nullptr ? input_starts(plan) : nullptr;
  int64_t* const end = out + spec.used;
  for (int32_t i = 0; i < lanes.n; ++i) {
    const int32_t rows = lanes.query_lens[i];
    const bool unknown = plan.rows_move(i) || (starts == nullptr && plan.context_inexact(i));
    const int64_t first = starts != nullptr ? starts[lanes.input_request(i)] : 0;
    const int32_t* ids = starts == nullptr && rows > 0 ? ids_at(plan, i) : nullptr;
    for (int32_t row = 0; row < rows; ++row) {
      const int64_t position = int64_t{lanes.context_lens[i]} + row;
      // Without a mapping of the engine's a row past the sequence has no block; with one, only rows
      // past a clamp have lost theirs.
      const bool outside = (ids != nullptr || lanes.is_cut(i)) && position >= lanes.seq_lens[i];
      int64_t slot = kFill;
      if (!unknown && !outside) {
        slot = ids == nullptr ? given_slot(group, first + row)
                              : int64_t{ids[position / cache.block_size]} * cache.block_size +
                                    position % cache.block_size;
        slot = rebase_slot(slot, cache);
      }
      *out++ = slot;
    }
  }
  std::fill(out, end, int64_t{kFill});
}

// Of the batch's own requests: what PAGE_INDPTR counts up to the last of them.
int64_t total_pages(const Plan& plan) {
  int64_t total = plan.full_pads_before(plan.lanes->n);  // a page each
  for (int32_t i = 0; i < plan.lanes->n; ++i) {
    total += pages_for(plan.max_seq_len(i), plan.state->view->page_size);
  }
  return total;
}

}  // namespace

void describe_pages(const Plan* plan, const Planner::State& state, SectionList* list) {
  const auto asked = [&state](int32_t id) { return (state.config.sections >> id & 1) != 0; };
  const Capacity& c = state.capacity;
  const uint8_t lengths = device_if(plan && (plan->inexact & kSeqInexact) != 0);
  const int64_t n = plan ? plan->lanes->n : 0;
  const int64_t padded_n = plan ? plan->padded_requests : 0;
  const int64_t width = plan ? plan->page_table_width : 0;
  if (asked(ATTNPLAN_SECTION_PAGE_INDPTR)) {
    list->add_ints(ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_EXTENT_REQUESTS, lengths, n + 1,
                   padded_n + 1, c.requests + 1);
  }
  if (asked(ATTNPLAN_SECTION_PAGE_INDICES)) {
    const int64_t pages = plan ? total_pages(*plan) : 0;
    const int64_t behind =
        plan ? plan->full_pads_before(plan->graph_end) - plan->full_pads_before(plan->lanes->n) : 0;
    list->add_ints(ATTNPLAN_SECTION_PAGE_INDICES, ATTNPLAN_EXTENT_PAGES, lengths, pages,
                   pages + behind, product(c.requests, c.table_width));
  }
  if (asked(ATTNPLAN_SECTION_LAST_PAGE_LEN)) {
    list->add_ints(ATTNPLAN_SECTION_LAST_PAGE_LEN, ATTNPLAN_EXTENT_REQUESTS, lengths, n, padded_n,
                   c.requests);
  }
  if (asked(ATTNPLAN_SECTION_PAGE_TABLE)) {
    list->add_ints(ATTNPLAN_SECTION_PAGE_TABLE, ATTNPLAN_EXTENT_REQUESTS, ATTNPLAN_VALIDITY_EXACT,
                   product(n, width), product(padded_n, width), product(c.requests, c.table_width));
  }
  if (asked(ATTNPLAN_SECTION_SLOTS)) {
    const bool given = plan && plan->group->slot_mapping != nullptr;
    const uint8_t unknown = given ? kQueryInexact : kQueryInexact | kContextInexact;
    list->add(ATTNPLAN_SECTION_SLOTS, ATTNPLAN_TYPE_INT64, ATTNPLAN_EXTENT_ROWS,
              device_if(plan && (plan->inexact & unknown) != 0), sizeof(int64_t),
              plan ? plan->lanes->rows : 0, plan ? plan->padded_rows : 0, c.rows);
  }
}

void write_pages(const Plan& plan, const SectionSpec& spec, std::byte* bytes) {
  auto* const out = reinterpret_cast<int32_t*>(bytes);
  switch (spec.id) {
    case ATTNPLAN_SECTION_PAGE_INDPTR:
      return write_page_indptr(plan, spec, out);
    case ATTNPLAN_SECTION_PAGE_INDICES:
      return write_page_indices(plan, spec, out);
    case ATTNPLAN_SECTION_LAST_PAGE_LEN:
      return write_last_page_len(plan, spec, out);
    case ATTNPLAN_SECTION_PAGE_TABLE:
      return write_page_table(plan, spec, out);
    case ATTNPLAN_SECTION_SLOTS:
      return write_slots(plan, spec, reinterpret_cast<int64_t*>(bytes));
  }
}

}  // namespace attnplan
