#include "cpu/shape.h"

#include <algorithm>

namespace attnplan::cpu {

AttentionShape full_shape(const attnplan_config& config) {
  const auto given = [](int32_t value, int32_t otherwise) { return value > 0 ? value : otherwise; };
  AttentionShape shape;
  shape.num_q_heads = given(config.num_q_heads, 16);
  shape.num_kv_heads = given(config.num_kv_heads, 1);
  shape.head_size = given(config.head_size, 128);
  shape.v_head_size = given(config.v_head_size, shape.head_size);
  shape.mask = config.mask;
  shape.sliding_window = std::max(config.sliding_window, 0);
  shape.latent = config.kv_cache != nullptr && config.kv_cache->layout == ATTNPLAN_LAYOUT_MLA &&
                 shape.v_head_size <= shape.head_size;
  return shape;
}

AttentionShape cap_shape(AttentionShape shape, int32_t max_kv_heads, int32_t max_group,
                         int32_t max_head_size) {
  int32_t group = std::max(shape.group(), 1);
  if (max_group > 0) group = std::min(group, max_group);
  if (max_kv_heads > 0) shape.num_kv_heads = std::min(shape.num_kv_heads, max_kv_heads);
  shape.num_q_heads = shape.num_kv_heads * group;
  if (max_head_size > 0) {
    const int32_t longest = std::max(shape.head_size, shape.v_head_size);
    const auto cap = [&](int32_t size) {
      return longest <= max_head_size
                 ? size
                 : std::max<int32_t>(1, static_cast<int64_t>(size) * max_head_size / longest);
    };
    shape.head_size = cap(shape.head_size);
    shape.v_head_size = cap(shape.v_head_size);
  }
  return shape;
}

}  // namespace attnplan::cpu
