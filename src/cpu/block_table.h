// Which logical block holds which tokens of a request, and whose vectors lie in a block.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attnplan.h"
#include "cpu/lengths.h"

namespace attnplan::cpu {

struct BlockTable {
  int32_t block_size = 0;         // tokens
  int64_t num_blocks = 0;         // that the storage must hold
  std::vector<int64_t> begin{0};  // [n + 1] into ids
  std::vector<int32_t> ids;

  // Tokens of a request that the table has room for and the request has.
  int64_t tokens(int32_t request, int32_t seq_len) const;
  int32_t block(int32_t request, int64_t index) const { return ids[begin[request] + index]; }
};

// The live part of the caller's table: at most ceil(seq_len / block_size) ids of each request, and
// no more than it has columns for.
BlockTable given_table(const attnplan_kv_cache& cache, const attnplan_group& group,
                       const Lengths& lengths);

// A table of our own with scattered blocks, for a caller that gives no ids.
BlockTable scattered_table(int32_t block_size, int64_t num_blocks, const Lengths& lengths);

struct TokenOrigin {
  int32_t request;
  int64_t position;
};

// Requests may share blocks (prefix caching; dummy tables do it wildly), and a shared block holds
// one content. Says which (request, position) the vectors of a token were made for: the first
// that has the block.
class Origins {
 public:
  explicit Origins(const BlockTable& table);
  TokenOrigin at(int32_t request, int64_t position) const;

 private:
  struct Entry {
    int32_t request;
    int64_t index;
  };
  int32_t block_size_;
  std::vector<int64_t> begin_;
  std::vector<Entry> entries_;  // of each id of the table
};

}  // namespace attnplan::cpu
