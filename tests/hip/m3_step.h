// The batch and the tensors of an M3 problem, on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attnplan.h"
#include "cpu/kv_layout.h"
#include "hip/image.h"
#include "hip/m3_problem.h"

namespace attnplan::hip_test {

constexpr int32_t kM3HeadSize = 128;  // of everything
constexpr int32_t kM3BlockSize = 128;

struct M3Step {
  explicit M3Step(const M3Description& description);

  attnplan_kv_cache cache() const;
  int32_t rows() const { return static_cast<int32_t>(row_request.size()); }
  int32_t num_q_heads() const { return d.num_kv_heads * d.group; }
  int32_t num_requests() const { return static_cast<int32_t>(query_lens.size()); }
  int32_t position(int32_t row) const {
    const int32_t request = row_request[static_cast<size_t>(row)];
    const auto at = static_cast<size_t>(request);
    return seq_lens[at] - query_lens[at] + row - starts[at];
  }
  // Numbers as they are stored: [tokens of the request, 128] of one head.
  std::vector<double> keys(int32_t request, int32_t head) const;
  std::vector<double> values(int32_t request, int32_t head) const;
  std::vector<double> index_keys(int32_t request) const;
  // [128]
  std::vector<double> query(int32_t row, int32_t head) const;
  std::vector<double> index_query(int32_t row, int32_t head) const;
  // The tensors' bytes.
  Image cache_image() const;
  Image index_image() const;
  int64_t cache_elements() const;

  const M3Description d;
  std::vector<int32_t> query_lens, seq_lens, starts, row_request;
  std::vector<int32_t> block_ids;  // [requests, columns]
  int32_t columns = 1, num_blocks = 0;
  cpu::KvLayout layout;
  // Codes by [block, token, head, element], and of queries by [row, head, element].
  std::vector<uint32_t> k, v, index_k;
  std::vector<uint16_t> q, index_q;

 private:
  void draw_lengths();
  int64_t token(int32_t request, int32_t position) const;
  std::vector<double> rows_of(const std::vector<uint32_t>& codes, Format format, int32_t request,
                              int32_t heads, int32_t head) const;
};

}  // namespace attnplan::hip_test
