// The cache page: page arithmetic, dtype labels, limits.
#include <algorithm>

#include "naive_parts.h"

namespace attnplan::oracle {
namespace {

bool is_gfx94x(const std::string& arch) {
  return arch == "gfx940" || arch == "gfx941" || arch == "gfx942";
}

struct Dtypes {
  attnplan_dtype storage;
  attnplan_dtype view;
};

Dtypes default_dtypes(attnplan_cache_dtype cache, const std::string& arch) {
  const bool fnuz = is_gfx94x(arch);
  const attnplan_dtype e4m3 = fnuz ? ATTNPLAN_DTYPE_E4M3FNUZ : ATTNPLAN_DTYPE_E4M3FN;
  const attnplan_dtype e5m2 = fnuz ? ATTNPLAN_DTYPE_E5M2FNUZ : ATTNPLAN_DTYPE_E5M2;
  switch (cache) {
    case ATTNPLAN_CACHE_FP16:
      return {ATTNPLAN_DTYPE_FP16, ATTNPLAN_DTYPE_FP16};
    case ATTNPLAN_CACHE_FP8:
    case ATTNPLAN_CACHE_FP8_E4M3:
      return {ATTNPLAN_DTYPE_UINT8, e4m3};
    case ATTNPLAN_CACHE_FP8_E5M2:
      return {ATTNPLAN_DTYPE_UINT8, e5m2};
    case ATTNPLAN_CACHE_FP8_INC:
      return {e4m3, e4m3};
    default:
      return {ATTNPLAN_DTYPE_BF16, ATTNPLAN_DTYPE_BF16};
  }
}

MaybeError check_ranges(const attnplan_kv_cache& kv) {
  const auto out_of_range = [](int64_t value, int64_t limit) {
    return plan_error(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE, -1, value, limit);
  };
  if (kv.num_blocks < 1) return out_of_range(kv.num_blocks, 1);
  if (kv.block_size < 1) return out_of_range(kv.block_size, 1);
  for (int64_t value : {int64_t{kv.page_size}, kv.k_pages, kv.v_pages, kv.k_scale_pages,
                        kv.v_scale_pages, kv.block_stride}) {
    if (value < 0) return out_of_range(value, 0);
  }
  return std::nullopt;
}

bool layout_contradicts(const attnplan_kv_cache& kv, const NaiveSetup& setup) {
  if (kv.layout == ATTNPLAN_LAYOUT_MLA && setup.v_head_size > setup.head_size) return true;
  if ((kv.flags & ATTNPLAN_KV_PACKED) == 0) return false;
  return kv.layout == ATTNPLAN_LAYOUT_LHBNC || kv.layout == ATTNPLAN_LAYOUT_MLA ||
         kv.scale == ATTNPLAN_SCALE_TOKEN_INLINE;
}

MaybeError count_pages(const attnplan_kv_cache& kv, attnplan_kv_view* view) {
  const int64_t per_block = view->pages_per_block;
  const int64_t storage = kv.num_blocks * view->block_page_stride;
  const int64_t behind_k = view->packed ? storage - per_block : storage;
  const auto given_or = [](int64_t given, int64_t derived) { return given > 0 ? given : derived; };

  view->k_pages = given_or(kv.k_pages, storage);
  view->v_pages = given_or(kv.v_pages, behind_k);
  view->pages = std::min(view->k_pages, view->v_pages);
  view->dropped_k_pages = view->k_pages - view->pages;
  view->max_page_id = (kv.num_blocks - int64_t{1}) * view->block_page_stride + per_block - 1;
  int64_t scale_pages = view->pages;
  if (kv.scale == ATTNPLAN_SCALE_TOKEN_HEAD) {
    scale_pages =
        std::min(given_or(kv.k_scale_pages, storage), given_or(kv.v_scale_pages, behind_k));
    view->k_scale_pages = view->v_scale_pages = scale_pages;
  }
  const int64_t reachable = std::min(view->pages, scale_pages);
  if (view->max_page_id >= reachable) {
    return plan_error(ATTNPLAN_CODE_KV_ROWS_UNADDRESSABLE, -1, view->max_page_id, reachable);
  }
  return std::nullopt;
}

MaybeError settle_dtypes(const attnplan_kv_cache& kv, const std::string& arch,
                         attnplan_kv_view* view) {
  const Dtypes dtypes = default_dtypes(kv.cache_dtype, arch);
  view->view_dtype = dtypes.view;
  view->storage_dtype = kv.storage_dtype != ATTNPLAN_DTYPE_NONE ? kv.storage_dtype : dtypes.storage;
  if (kv.view_dtype != ATTNPLAN_DTYPE_NONE && kv.view_dtype != dtypes.view) {
    return plan_error(ATTNPLAN_CODE_DTYPE_MISMATCH, -1, kv.view_dtype, dtypes.view);
  }
  if (element_bytes(view->storage_dtype) != element_bytes(view->view_dtype)) {
    return plan_error(ATTNPLAN_CODE_DTYPE_MISMATCH, -1, view->storage_dtype, view->view_dtype);
  }
  view->label = (kv.flags & ATTNPLAN_KV_TYPED) != 0 ? view->view_dtype : view->storage_dtype;
  return std::nullopt;
}

MaybeError find_last_offset(const attnplan_kv_cache& kv, const NaiveSetup& setup,
                            attnplan_kv_view* view) {
  // K's and V's pages are of one size: the longer of the two.
  int64_t stride = kv.block_size * std::max(setup.head_size, setup.v_head_size);
  if (kv.layout != ATTNPLAN_LAYOUT_MLA) stride *= setup.num_kv_heads;
  if (view->packed) stride *= 2;
  view->block_stride = kv.block_stride > 0 ? kv.block_stride : stride;
  view->last_offset = kv.num_blocks * view->block_stride - 1;
  view->needs_64bit = view->last_offset > INT32_MAX;

  const int64_t bytes = element_bytes(view->view_dtype);
  const int64_t last = kv.offset_unit == ATTNPLAN_OFFSET_BYTES ? (view->last_offset + 1) * bytes - 1
                                                               : view->last_offset;
  if (kv.offset_unit != ATTNPLAN_OFFSET_NONE && last > kv.offset_max) {
    return plan_error(ATTNPLAN_CODE_OFFSET_OVERFLOW, -1, last, kv.offset_max);
  }
  return std::nullopt;
}

}  // namespace

int64_t element_bytes(attnplan_dtype dtype) {
  return dtype == ATTNPLAN_DTYPE_BF16 || dtype == ATTNPLAN_DTYPE_FP16 ? 2 : 1;
}

MaybeError resolve_cache(const attnplan_kv_cache& kv, const NaiveSetup& setup, NaiveCache* cache) {
  cache->given = kv;
  if (MaybeError error = check_ranges(kv)) return error;
  if (layout_contradicts(kv, setup)) {
    return plan_error(ATTNPLAN_CODE_LAYOUT_UNSUPPORTED, -1, 0, 0);
  }

  attnplan_kv_view* view = &cache->view;
  view->packed = (kv.flags & ATTNPLAN_KV_PACKED) != 0;
  view->page_size = kv.page_size > 0 ? kv.page_size : kv.block_size;
  if (kv.block_size % view->page_size != 0) {
    return plan_error(ATTNPLAN_CODE_BLOCK_SIZE_UNSUPPORTED, -1, kv.block_size, view->page_size);
  }
  view->pages_per_block = kv.block_size / view->page_size;
  view->block_page_stride = view->packed ? 2 * view->pages_per_block : view->pages_per_block;
  if (MaybeError error = count_pages(kv, view)) return error;
  if (MaybeError error = settle_dtypes(kv, setup.arch, view)) return error;
  return find_last_offset(kv, setup, view);
}

}  // namespace attnplan::oracle
