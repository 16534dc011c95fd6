#include "cpu/paged_cache.h"

#include <algorithm>
#include <limits>

namespace attnplan::cpu {
namespace {

constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double* SparseMemory::chunk(int64_t address) {
  const int64_t index = address / kChunk;
  if (index == last_index_) return last_;
  std::unique_ptr<double[]>& chunk = chunks_[index];
  if (chunk == nullptr) {
    chunk = std::make_unique<double[]>(kChunk);
    std::fill_n(chunk.get(), kChunk, kPoison);
  }
  last_index_ = index;
  last_ = chunk.get();
  return last_;
}

double SparseMemory::load(int64_t address) const {
  if (address < 0) return kPoison;
  const int64_t index = address / kChunk;
  if (index != last_index_) {
    const auto found = chunks_.find(index);
    if (found == chunks_.end()) return kPoison;
    last_index_ = index;
    last_ = found->second.get();
  }
  return last_[address % kChunk];
}

void fill_cache(const CacheFill& fill, Tensor tensor, const KvLayout& layout,
                const TensorLayout& where, int32_t heads, int32_t row, SparseMemory& memory) {
  std::vector<double> vector(row);
  for (int32_t request = 0; request < fill.lengths.size(); ++request) {
    const int64_t tokens = fill.table.tokens(request, fill.lengths.seq_lens[request]);
    for (int64_t position = 0; position < tokens; ++position) {
      const int64_t block = fill.table.block(request, position / fill.table.block_size);
      if (block < 0) continue;  // a caller that switched its id check off: reads find poison
      const int64_t in_block = position % fill.table.block_size;
      const int64_t page = layout.page_id(block, in_block / layout.page_size);
      const TokenOrigin origin = fill.origins.at(request, position);
      for (int32_t head = 0; head < heads; ++head) {
        fill.values.fill(tensor, origin.request, origin.position, head, row, vector.data());
        const int64_t base = layout.row_address(where, page, head, in_block % layout.page_size);
        for (int32_t e = 0; e < row; ++e) memory.store(base + where.element_offset(e), vector[e]);
      }
    }
  }
}

std::vector<int64_t> page_table(const BlockTable& table, const KvLayout& layout, int32_t request) {
  std::vector<int64_t> pages;
  for (int64_t i = table.begin[request]; i < table.begin[request + 1]; ++i) {
    for (int64_t j = 0; j < layout.pages_per_block; ++j) {
      pages.push_back(table.ids[i] < 0 ? -1 : layout.page_id(table.ids[i], j));
    }
  }
  return pages;
}

void gather(const SparseMemory& memory, const KvLayout& layout, const TensorLayout& where,
            const std::vector<int64_t>& pages, int32_t head, KeyRange range, int32_t row,
            double* out) {
  for (int64_t position = range.begin; position < range.end; ++position) {
    const auto index = static_cast<size_t>(position / layout.page_size);
    const int64_t page = index < pages.size() ? pages[index] : -1;
    if (page < 0) {
      std::fill_n(out, row, kPoison);
      out += row;
      continue;
    }
    const int64_t base = layout.row_address(where, page, head, position % layout.page_size);
    for (int32_t e = 0; e < row; ++e) *out++ = memory.load(base + where.element_offset(e));
  }
}

}  // namespace attnplan::cpu
