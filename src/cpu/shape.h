// Sizes and rules of one attention layer, shared by the executor and the oracle.
#pragma once

#include <cmath>
#include <cstdint>

#include "attnplan.h"

namespace attnplan::cpu {

struct AttentionShape {
  int32_t num_q_heads = 16;
  int32_t num_kv_heads = 1;
  int32_t head_size = 128;    // of Q and K
  int32_t v_head_size = 128;  // of V and of the output
  attnplan_mask mask = ATTNPLAN_MASK_CAUSAL;
  int32_t sliding_window = 0;  // tokens a query may see, itself included; 0: all
  double soft_cap = 0;         // scores become cap * tanh(score / cap); 0: none
  bool latent = false;         // one K row per token for all heads, V is a prefix of it

  int32_t group() const { return num_q_heads / num_kv_heads; }
  double scale() const { return 1.0 / std::sqrt(static_cast<double>(head_size)); }
};

// The layer that `config` describes, its defaults filled in.
AttentionShape full_shape(const attnplan_config& config);

// The same with at most so many KV heads, query heads per KV head and elements; 0: no cap. Where
// K and V differ in size they still do.
AttentionShape cap_shape(AttentionShape shape, int32_t max_kv_heads, int32_t max_group,
                         int32_t max_head_size);

// MiniMax-M3: which blocks of keys a row attends.
struct M3Params {
  int32_t block_tokens = 128;
  int32_t top_k = 16;        // blocks
  int32_t init_blocks = 0;   // first blocks, always taken
  int32_t local_blocks = 1;  // last live blocks, always taken
  int32_t index_head_size = 128;
};

// Keys [begin, end) of one request.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin >= end; }
  bool operator==(const KeyRange&) const = default;
};

// Vectors of one head, one per token: vector t begins at data + t * stride.
struct RowsView {
  const double* data = nullptr;
  int64_t stride = 0;  // elements

  const double* row(int64_t token) const { return data + token * stride; }
};

}  // namespace attnplan::cpu
