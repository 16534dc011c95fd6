#include "convert_cache.h"

#include "versioned.h"

namespace attnplan {

Status check_enums(std::initializer_list<Enumerator> enums, Error* error) {
  for (const Enumerator& e : enums) {
    if (e.value < 0 || e.value > e.last) return unknown_value(error, e.what, e.value);
  }
  return Status::kOk;
}

Status to_cache(const attnplan_kv_cache* given, KvCache* cache, Error* error) {
  attnplan_kv_cache copy;
  const attnplan_kv_cache* c;
  Status status = read_struct(given, &copy, &c, "attnplan_kv_cache", error);
  if (status != Status::kOk) return status;
  constexpr uint32_t kFlags = ATTNPLAN_KV_PACKED | ATTNPLAN_KV_SHUFFLE | ATTNPLAN_KV_TYPED;
  if ((c->flags & ~kFlags) != 0) return unknown_value(error, "kv_cache flags", c->flags);
  status = check_enums({{"layout", c->layout, ATTNPLAN_LAYOUT_MLA},
                        {"cache_dtype", c->cache_dtype, ATTNPLAN_CACHE_FP8_INC},
                        {"storage_dtype", c->storage_dtype, ATTNPLAN_DTYPE_E5M2FNUZ},
                        {"view_dtype", c->view_dtype, ATTNPLAN_DTYPE_E5M2FNUZ},
                        {"scale", c->scale, ATTNPLAN_SCALE_TOKEN_INLINE},
                        {"offset_unit", c->offset_unit, ATTNPLAN_OFFSET_BYTES}},
                       error);
  if (status != Status::kOk) return status;
  cache->layout = static_cast<Layout>(c->layout);
  cache->packed = (c->flags & ATTNPLAN_KV_PACKED) != 0;
  cache->shuffle = (c->flags & ATTNPLAN_KV_SHUFFLE) != 0;
  cache->typed = (c->flags & ATTNPLAN_KV_TYPED) != 0;
  cache->num_blocks = c->num_blocks;
  cache->block_size = c->block_size;
  cache->page_size = c->page_size;
  cache->cache_dtype = static_cast<CacheDtype>(c->cache_dtype);
  cache->storage_dtype = static_cast<Dtype>(c->storage_dtype);
  cache->view_dtype = static_cast<Dtype>(c->view_dtype);
  cache->scale = static_cast<Scale>(c->scale);
  cache->offset_limit = {static_cast<OffsetUnit>(c->offset_unit), c->offset_max};
  cache->k_pages = c->k_pages;
  cache->v_pages = c->v_pages;
  cache->k_scale_pages = c->k_scale_pages;
  cache->v_scale_pages = c->v_scale_pages;
  cache->block_stride = c->block_stride;
  return Status::kOk;
}

}  // namespace attnplan
