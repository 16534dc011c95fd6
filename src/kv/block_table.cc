#include "kv/block_table.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace attnplan {

int64_t row_stride_of(const Group& group) {
  return group.row_stride != 0 ? group.row_stride : group.columns;
}

int64_t columns_of(const Group& group, int32_t request) {
  if (group.block_indptr == nullptr) return group.columns;
  return std::max<int64_t>(int64_t{group.block_indptr[request + 1]} - group.block_indptr[request],
                           0);
}

const int32_t* ids_of(const Group& group, int32_t request) {
  if (group.block_ids == nullptr) return nullptr;
  if (group.block_indptr != nullptr) return group.block_ids + group.block_indptr[request];
  return group.block_ids + request * row_stride_of(group);
}

int32_t blocks_for(int32_t seq_len, int32_t block_size) {
  const uint32_t blocks = (static_cast<uint32_t>(seq_len) + static_cast<uint32_t>(block_size) - 1) /
                          static_cast<uint32_t>(block_size);
  return static_cast<int32_t>(blocks);
}

int64_t widest_row(const Group& group, int32_t num_reqs) {
  if (group.block_indptr == nullptr) return group.columns;
  int64_t widest = 0;
  for (int32_t i = 0; i < num_reqs; ++i) widest = std::max(widest, columns_of(group, i));
  return widest;
}

int64_t rebase_slot(int64_t slot, const KvCache& cache) {
  if (slot < 0 || !cache.packed) return slot;
  // Unsigned: a slot far beyond any cache may wrap, but not overflow.
  const auto unsigned_slot = static_cast<uint64_t>(slot);
  const auto block_size = static_cast<uint64_t>(cache.block_size);
  return static_cast<int64_t>(unsigned_slot + unsigned_slot / block_size * block_size);
}

int32_t uniform_capacity(const Group& group, int32_t block_size) {
  if (!group.has_table() || group.block_indptr != nullptr) return INT32_MAX;
  return static_cast<int32_t>(std::min<int64_t>(int64_t{group.columns} * block_size, INT32_MAX));
}

Status check_indptr(const BlockTableInput& in, Error* error) {
  const int32_t* indptr = in.group->block_indptr;
  if (indptr == nullptr) return Status::kOk;
  for (int32_t i = 0; i <= in.num_reqs; ++i) {
    const int32_t least = i > 0 ? indptr[i - 1] : 0;
    if (indptr[i] >= least) continue;
    return error->set(Status::kInvalidArgument, Code::kNone, i > 0 ? i - 1 : -1, indptr[i], least,
                      "block_indptr[%d] is %d, expected at least %d", i, indptr[i], least);
  }
  return Status::kOk;
}

Status check_width(const BlockTableInput& in, Error* error) {
  for (int32_t i = 0; i < in.num_reqs; ++i) {
    if (in.query_lens[i] == 0) continue;
    const int64_t columns = columns_of(*in.group, i);
    const int64_t needed = blocks_for(in.seq_lens[i], in.cache->block_size);
    if (needed > columns) {
      return error->set(Status::kPlanError, Code::kBlockTableTooNarrow, i, needed, columns,
                        "request %d has seq_len %d and needs %lld blocks of %d tokens, but its "
                        "block-table row has %lld columns",
                        i, in.seq_lens[i], static_cast<long long>(needed), in.cache->block_size,
                        static_cast<long long>(columns));
    }
  }
  return Status::kOk;
}

bool clamp_seq_lens(const BlockTableInput& in, int32_t* clamped, uint8_t* marks,
                    std::pmr::vector<attnplan_warning>* warnings) {
  bool cut = false;
  for (int32_t i = 0; i < in.num_reqs; ++i) {
    const int64_t limit = columns_of(*in.group, i) * in.cache->block_size;
    clamped[i] = in.seq_lens[i];
    marks[i] = 0;
    if (in.query_lens[i] == 0 || in.seq_lens[i] <= limit) continue;
    clamped[i] = static_cast<int32_t>(limit);
    marks[i] = 1;
    warnings->push_back({static_cast<int32_t>(Code::kSeqLenClamped), i, in.seq_lens[i], limit});
    cut = true;
  }
  return cut;
}

Status check_ids(const BlockTableInput& in, const Isa& isa, Error* error) {
  if (in.group->block_ids == nullptr || !in.group->check_ids) return Status::kOk;
  const int32_t num_blocks = in.cache->num_blocks;
  if (isa.rows_in_range({.n = in.num_reqs,
                         .ids = in.group->block_ids,
                         .indptr = in.group->block_indptr,
                         .row_stride = row_stride_of(*in.group),
                         .columns = in.group->columns,
                         .order = nullptr,
                         .query_lens = in.query_lens,
                         .seq_lens = in.seq_lens,
                         .block_size = in.cache->block_size,
                         .num_blocks = num_blocks})) {
    return Status::kOk;
  }
  for (int32_t i = 0; i < in.num_reqs; ++i) {
    if (in.query_lens[i] == 0) continue;
    const int32_t* ids = ids_of(*in.group, i);
    const int32_t needed = blocks_for(in.seq_lens[i], in.cache->block_size);
    if (isa.ids_in_range(ids, needed, num_blocks)) continue;
    const int32_t* bad = std::find_if(
        ids, ids + needed, [num_blocks](int32_t id) { return id < 0 || id >= num_blocks; });
    return error->set(Status::kPlanError, Code::kPageOutOfRange, i, *bad, num_blocks,
                      "block %lld of request %d has id %d, but the cache has %d blocks",
                      static_cast<long long>(bad - ids), i, *bad, num_blocks);
  }
  return Status::kOk;  // not reached: the rows differ from what was looked at first
}

namespace {

// Without a branch: a slot is beyond the cache where it has no sign and the difference has one.
template <typename Slot>
bool any_beyond(const Slot* slots, int64_t rows, int64_t limit) {
  using Unsigned = std::make_unsigned_t<Slot>;
  // No int32 lies beyond a cache of 2^31 tokens or more.
  const auto last =
      static_cast<Unsigned>(std::min<int64_t>(limit - 1, std::numeric_limits<Slot>::max()));
  Unsigned signs = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto slot = static_cast<Unsigned>(slots[row]);
    signs |= ~slot & (last - slot);
  }
  return static_cast<Slot>(signs) < 0;
}

bool any_slot_beyond(const Group& group, int64_t rows, int64_t limit) {
  return group.slots_int64
             ? any_beyond(static_cast<const int64_t*>(group.slot_mapping), rows, limit)
             : any_beyond(static_cast<const int32_t*>(group.slot_mapping), rows, limit);
}

}  // namespace

int64_t given_slot(const Group& group, int64_t row) {
  return group.slots_int64 ? static_cast<const int64_t*>(group.slot_mapping)[row]
                           : static_cast<const int32_t*>(group.slot_mapping)[row];
}

Status check_slots(const BlockTableInput& in, int64_t rows, const uint8_t* cut,
                   const int32_t* context_lens, Error* error) {
  const Group& group = *in.group;
  if (group.slot_mapping == nullptr || !group.check_ids) return Status::kOk;
  const int64_t limit = int64_t{in.cache->num_blocks} * in.cache->block_size;
  if (!any_slot_beyond(group, rows, limit)) return Status::kOk;
  int64_t row = 0;
  for (int32_t i = 0; i < in.num_reqs; ++i) {
    const int64_t end = row + in.query_lens[i];
    const bool is_cut = cut != nullptr && cut[i] != 0;
    const int64_t kept =
        is_cut ? std::max<int64_t>(in.seq_lens[i] - context_lens[i], 0) : end - row;
    for (const int64_t kept_end = std::min(end, row + kept); row < kept_end; ++row) {
      const int64_t slot = given_slot(group, row);
      if (slot < limit) continue;
      return error->set(Status::kPlanError, Code::kPageOutOfRange, i, slot, limit,
                        "row %lld, of request %d, has slot %lld, but the cache has %lld",
                        static_cast<long long>(row), i, static_cast<long long>(slot),
                        static_cast<long long>(limit));
    }
    row = end;
  }
  return Status::kOk;  // only rows without a place in the cache
}

}  // namespace attnplan
