#include "cpu/block_table.h"

#include <algorithm>
#include <numeric>

namespace attnplan::cpu {
namespace {

int64_t blocks_for(int64_t tokens, int32_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

}  // namespace

int64_t BlockTable::tokens(int32_t request, int32_t seq_len) const {
  return std::min<int64_t>(seq_len, (begin[request + 1] - begin[request]) * block_size);
}

BlockTable given_table(const attnplan_kv_cache& cache, const attnplan_group& group,
                       const Lengths& lengths) {
  BlockTable table;
  table.block_size = cache.block_size;
  table.num_blocks = cache.num_blocks;
  const int64_t row_stride = group.row_stride > 0 ? group.row_stride : group.columns;
  for (int32_t r = 0; r < lengths.size(); ++r) {
    const bool csr = group.block_indptr != nullptr;
    const int64_t first = csr ? group.block_indptr[r] : r * row_stride;
    const int64_t room = csr ? group.block_indptr[r + 1] - first : group.columns;
    const int64_t tokens = lengths.query_lens[r] > 0 ? lengths.seq_lens[r] : 0;
    const int64_t live = std::min(room, blocks_for(tokens, table.block_size));
    table.ids.insert(table.ids.end(), group.block_ids + first, group.block_ids + first + live);
    table.begin.push_back(static_cast<int64_t>(table.ids.size()));
  }
  return table;
}

BlockTable scattered_table(int32_t block_size, int64_t num_blocks, const Lengths& lengths) {
  BlockTable table;
  table.block_size = block_size;
  for (int32_t r = 0; r < lengths.size(); ++r) {
    table.begin.push_back(table.begin.back() + blocks_for(lengths.seq_lens[r], block_size));
  }
  const int64_t used = table.begin.back();
  table.num_blocks = std::max(num_blocks, used + 1);
  int64_t step = table.num_blocks * 5 / 8 + 1;  // consecutive tokens end up far apart
  while (std::gcd(step, table.num_blocks) != 1) ++step;
  for (int64_t i = 0; i < used; ++i) {
    table.ids.push_back(static_cast<int32_t>((i * step + 1) % table.num_blocks));
  }
  return table;
}

Origins::Origins(const BlockTable& table) : block_size_(table.block_size), begin_(table.begin) {
  std::unordered_map<int32_t, Entry> first;
  for (int32_t r = 0; r + 1 < static_cast<int32_t>(begin_.size()); ++r) {
    for (int64_t i = begin_[r]; i < begin_[r + 1]; ++i) {
      const Entry own{r, i - begin_[r]};
      entries_.push_back(first.try_emplace(table.ids[i], own).first->second);
    }
  }
}

TokenOrigin Origins::at(int32_t request, int64_t position) const {
  const int64_t at = begin_[request] + position / block_size_;
  if (at >= begin_[request + 1]) return {request, position};  // beyond the table: nobody's block
  const Entry& entry = entries_[at];
  return {entry.request, entry.index * block_size_ + position % block_size_};
}

}  // namespace attnplan::cpu
