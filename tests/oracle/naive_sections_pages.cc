// Page lists, page tables and slots, as section 5 and the cache page define them.
#include <algorithm>

#include "naive_sections_parts.h"

namespace attnplan::oracle {
namespace {

constexpr int64_t kLongestTokenList = int64_t{1} << 20;  // of page_indices where a page is a token

int64_t page_of(const attnplan_kv_view& view, int64_t block_id, int64_t page) {
  return block_id * view.block_page_stride + page;
}

// The slot of a token address `block * block_size + offset` in the storage.
int64_t rebase(const SectionInputs& in, int64_t slot) {
  const int64_t block_size = in.setup.cache->given.block_size;
  if (slot < 0 || in.setup.cache->view.packed == 0) return slot;
  return slot / block_size * 2 * block_size + slot % block_size;
}

int64_t given_slot(const attnplan_group& group, int64_t row) {
  if ((group.flags & ATTNPLAN_GROUP_SLOTS_INT64) != 0) {
    return static_cast<const int64_t*>(group.slot_mapping)[row];
  }
  return static_cast<const int32_t*>(group.slot_mapping)[row];
}

int64_t computed_slot(const SectionInputs& in, size_t request, int64_t position) {
  const int64_t block_size = in.setup.cache->given.block_size;
  const int64_t block = in.blocks(request)[position / block_size];
  return block < 0 ? -1 : rebase(in, block * block_size + position % block_size);
}

}  // namespace

MaybeError add_page_lists(const SectionInputs& in, SectionMap* out) {
  const bool wanted = in.wants(ATTNPLAN_SECTION_PAGE_INDPTR) ||
                      in.wants(ATTNPLAN_SECTION_PAGE_INDICES) ||
                      in.wants(ATTNPLAN_SECTION_LAST_PAGE_LEN);
  if (!wanted) return std::nullopt;
  const attnplan_kv_view& view = in.setup.cache->view;
  NaiveList indptr, indices, last;
  indptr.extent = last.extent = ATTNPLAN_EXTENT_REQUESTS;
  indices.extent = ATTNPLAN_EXTENT_PAGES;
  indptr.values.push_back(0);
  int64_t total = 0;
  bool known = true;  // where the pages of this request begin
  for (size_t i = 0; i < in.requests.size(); ++i) {
    const NaiveRequest& request = in.requests[i];
    const int64_t pages = request.live() ? ceil_div(request.max_seq, view.page_size) : 0;
    known &= request.exact_seq;
    for (int64_t page = 0; page < pages && in.wants(ATTNPLAN_SECTION_PAGE_INDICES); ++page) {
      if (!known) {  // room for what there may be
        indices.values.push_back(kOnlyTheDeviceKnows);
        continue;
      }
      const int64_t block = in.blocks(i)[page / view.pages_per_block];
      indices.values.push_back(page_of(view, block, page % view.pages_per_block));
    }
    total += pages;
    indptr.values.push_back(known ? total : kOnlyTheDeviceKnows);
    const int64_t rest = pages == 0 ? 0 : request.max_seq - (pages - 1) * view.page_size;
    last.values.push_back(request.exact_seq ? rest : kOnlyTheDeviceKnows);
  }
  if (view.page_size == 1 && total > kLongestTokenList) {
    return plan_error(ATTNPLAN_CODE_CAPACITY_EXCEEDED, -1, total, kLongestTokenList);
  }
  for (NaiveList* list : {&indptr, &indices, &last}) {
    if (!known) list->validity = ATTNPLAN_VALIDITY_DEVICE;
  }
  if (in.wants(ATTNPLAN_SECTION_PAGE_INDPTR)) (*out)[ATTNPLAN_SECTION_PAGE_INDPTR] = indptr;
  if (in.wants(ATTNPLAN_SECTION_PAGE_INDICES)) (*out)[ATTNPLAN_SECTION_PAGE_INDICES] = indices;
  if (in.wants(ATTNPLAN_SECTION_LAST_PAGE_LEN)) (*out)[ATTNPLAN_SECTION_LAST_PAGE_LEN] = last;
  return std::nullopt;
}

int64_t page_table_width(const SectionInputs& in) {
  const int64_t block_size = in.setup.cache->given.block_size;
  if (in.fixed_layout()) {  // from the configuration alone
    return ceil_div(in.setup.max_model_len, block_size) * in.setup.cache->view.pages_per_block;
  }
  if (in.group == nullptr) return 0;
  int64_t columns = in.group->columns;
  if (in.group->block_indptr != nullptr) {
    columns = 0;
    for (size_t i = 0; i < in.requests.size(); ++i) {
      columns =
          std::max<int64_t>(columns, in.group->block_indptr[i + 1] - in.group->block_indptr[i]);
    }
  }
  return columns * in.setup.cache->view.pages_per_block;
}

void add_page_table(const SectionInputs& in, SectionMap* out) {
  const attnplan_kv_view& view = in.setup.cache->view;
  const int64_t width = page_table_width(in);
  NaiveList table;
  table.extent = ATTNPLAN_EXTENT_REQUESTS;
  for (size_t i = 0; i < in.requests.size(); ++i) {
    const NaiveRequest& request = in.requests[i];
    const int64_t blocks =
        request.live() ? ceil_div(request.seq, in.setup.cache->given.block_size) : 0;
    for (int64_t page = 0; page < width; ++page) {
      const int64_t block = page / view.pages_per_block;
      table.values.push_back(
          block < blocks ? page_of(view, in.blocks(i)[block], page % view.pages_per_block) : -1);
    }
  }
  (*out)[ATTNPLAN_SECTION_PAGE_TABLE] = table;
}

void add_slots(const SectionInputs& in, SectionMap* out) {
  NaiveList slots;
  slots.type = ATTNPLAN_TYPE_INT64;
  slots.extent = ATTNPLAN_EXTENT_ROWS;
  // Whoever gives a mapping vouches for it, but for rows that move between requests.
  const bool given = in.group != nullptr && in.group->slot_mapping != nullptr;
  const bool known = given ? !in.any_inexact_query() : in.all_exact();
  if (!known) slots.validity = ATTNPLAN_VALIDITY_DEVICE;
  for (size_t i = 0; i < in.requests.size(); ++i) {
    const NaiveRequest& request = in.requests[i];
    for (int64_t row = 0; row < request.query; ++row) {
      const int64_t position = request.context + row;
      if (in.rows_unknown(i) || (!given && !request.exact_context)) {
        slots.values.push_back(kOnlyTheDeviceKnows);
      } else if (position >= (given ? request.clamp.value_or(INT64_MAX) : request.seq)) {
        slots.values.push_back(-1);
      } else {
        slots.values.push_back(given ? rebase(in, given_slot(*in.group, in.step_row[i] + row))
                                     : computed_slot(in, i, position));
      }
    }
  }
  (*out)[ATTNPLAN_SECTION_SLOTS] = slots;
}

}  // namespace attnplan::oracle
