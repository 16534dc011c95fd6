// One attention layer as a caller describes it: defaults filled in, the cache resolved.
#pragma once

#include "attnplan/error.h"
#include "attnplan_hip.h"
#include "hip/cache_strides.h"

namespace attnplan::hip {

struct Layer {
  attnplan_hip_attention attention;  // no field is left at "default"; kv_cache may be NULL
  attnplan_kv_cache cache;           // of kv_cache, if given
  attnplan_dtype view_dtype;         // what the bytes of the cache are
  attnplan_dtype storage_dtype;
  int32_t block_size;  // of the planner's view, likewise below
  int32_t page_size;
  int64_t pages_per_block;
  int64_t block_page_stride;
  int64_t max_page_id;

  int32_t group() const { return attention.num_q_heads / attention.num_kv_heads; }
  bool sparse() const { return attention.top_k > 0; }
  bool has_cache() const { return attention.kv_cache != nullptr; }
  bool shuffled() const { return has_cache() && (cache.flags & ATTNPLAN_KV_SHUFFLE) != 0; }
};

// Errors: a field out of range, or the cache's own (docs/kv-cache.md).
Status read_layer(const attnplan_hip_attention* given, Layer* layer, Error* error);

// INVALID_ARGUMENT where no cache is described.
Status need_cache(const Layer& layer, Error* error);

// That there are kernels for the layer and its cache: what the contracts promise the planner.
// UNIMPLEMENTED names the field.
Status check_supported(const Layer& layer, Error* error);

// Tokens of the pages that kernels get of this cache: its own, else the largest that divides its
// blocks; 0 where there is none. As the planner chooses.
int32_t kernel_page_size(const Layer& layer);

// UNIMPLEMENTED where it is none of the kernels'.
Status check_query_dtype(const Layer& layer, Error* error);

// PLAN_ERROR where kernels take no pages of that size, or the cache has others.
Status check_page_size(const Layer& layer, int32_t page_size, Error* error);

// Strides for pages of `page_size` tokens, which the cache's own is, if it has one. Errors where a
// stride is not what kernels take.
Status layer_strides(const Layer& layer, int32_t page_size, CacheStrides* strides, Error* error);

}  // namespace attnplan::hip
