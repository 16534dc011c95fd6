// A KV cache as kernels see it: elements at addresses, most of a huge storage never touched.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cpu/block_table.h"
#include "cpu/kv_layout.h"
#include "cpu/shape.h"
#include "cpu/values.h"

namespace attnplan::cpu {

// Elements by address; what was never stored reads as NaN, so that a stray read shows.
class SparseMemory {
 public:
  void store(int64_t address, double value) { chunk(address)[address % kChunk] = value; }
  double load(int64_t address) const;

 private:
  static constexpr int64_t kChunk = 1024;  // elements
  double* chunk(int64_t address);

  std::unordered_map<int64_t, std::unique_ptr<double[]>> chunks_;
  mutable int64_t last_index_ = -1;
  mutable double* last_ = nullptr;
};

// Fills `memory` with the vectors that `tensor` of `layout` holds for all live tokens.
struct CacheFill {
  const Values& values;
  const BlockTable& table;
  const Origins& origins;
  const Lengths& lengths;
};
void fill_cache(const CacheFill& fill, Tensor tensor, const KvLayout& layout,
                const TensorLayout& where, int32_t heads, int32_t row, SparseMemory& memory);

// Reads vectors of tokens [range.begin, range.end) of one request and head into rows of `out`.
// The page table of the request is its block table expanded to kernel pages.
std::vector<int64_t> page_table(const BlockTable& table, const KvLayout& layout, int32_t request);
void gather(const SparseMemory& memory, const KvLayout& layout, const TensorLayout& where,
            const std::vector<int64_t>& pages, int32_t head, KeyRange range, int32_t row,
            double* out);

}  // namespace attnplan::cpu
