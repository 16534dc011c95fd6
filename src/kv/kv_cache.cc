// Views, trim and strides of a cache. The page stride always comes from the layout: counts change
// when a view is trimmed, the distance between two blocks does not.
#include "attnplan/kv_cache.h"

#include <algorithm>

#include "kv/dtype.h"

namespace attnplan {
namespace {

Status out_of_range(Error* error, const char* what, int64_t value, int64_t limit) {
  return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, value, limit,
                    "kv_cache: %s is %lld, expected at least %lld", what,
                    static_cast<long long>(value), static_cast<long long>(limit));
}

Status check_ranges(const KvCache& cache, Error* error) {
  if (cache.num_blocks < 1) return out_of_range(error, "num_blocks", cache.num_blocks, 1);
  if (cache.block_size < 1) return out_of_range(error, "block_size", cache.block_size, 1);
  const struct {
    const char* name;
    int64_t value;
  } counts[] = {{"page_size", cache.page_size},
                {"k_pages", cache.k_pages},
                {"v_pages", cache.v_pages},
                {"k_scale_pages", cache.k_scale_pages},
                {"v_scale_pages", cache.v_scale_pages},
                {"block_stride", cache.block_stride}};
  for (const auto& count : counts) {
    if (count.value < 0) return out_of_range(error, count.name, count.value, 0);
  }
  return Status::kOk;
}

Status check_layout(const KvCache& cache, int32_t head_size, int32_t v_head_size, Error* error) {
  const auto refuse = [error](const char* why) {
    return error->set(Status::kPlanError, Code::kLayoutUnsupported, -1, 0, 0, "kv_cache: %s", why);
  };
  if (cache.layout == Layout::kMla && v_head_size > head_size) {
    return refuse("V is a prefix of an mla row, so its heads cannot be longer than K's");
  }
  if (!cache.packed) return Status::kOk;
  if (cache.layout == Layout::kLhbnc) {
    return refuse("layout lhbnc keeps K and V in separate planes, so its blocks cannot be packed");
  }
  if (cache.layout == Layout::kMla) {
    return refuse("an mla row holds K and V together, so its blocks cannot be packed");
  }
  if (cache.scale == Scale::kTokenInline) {
    return refuse("scales inside the rows cannot be packed");
  }
  return Status::kOk;
}

struct PageCounts {
  int64_t k;
  int64_t v;
};

// Trims to the shorter view and proves that no block's page id reaches a dropped page.
Status trim(PageCounts counts, const char* what, int64_t max_page_id, int64_t* pages,
            Error* error) {
  *pages = std::min(counts.k, counts.v);
  if (max_page_id < *pages) return Status::kOk;
  return error->set(Status::kPlanError, Code::kKvRowsUnaddressable, -1, max_page_id, *pages,
                    "kv_cache: page id %lld is addressable, but K and V %s have only %lld pages in "
                    "common (K %lld, V %lld)",
                    static_cast<long long>(max_page_id), what, static_cast<long long>(*pages),
                    static_cast<long long>(counts.k), static_cast<long long>(counts.v));
}

Status resolve_pages(const KvCache& cache, KvView* view, Error* error) {
  view->packed = cache.packed;
  view->page_size = cache.page_size > 0 ? cache.page_size : cache.block_size;
  if (cache.block_size % view->page_size != 0) {
    return error->set(Status::kPlanError, Code::kBlockSizeUnsupported, -1, cache.block_size,
                      view->page_size, "kv_cache: page_size %d does not divide block_size %d",
                      view->page_size, cache.block_size);
  }
  view->pages_per_block = cache.block_size / view->page_size;
  view->block_page_stride = view->pages_per_block * (cache.packed ? 2 : 1);
  view->max_page_id = (cache.num_blocks - 1) * view->block_page_stride + view->pages_per_block - 1;
  const int64_t k_storage = cache.num_blocks * view->block_page_stride;
  // A packed V view starts pages_per_block pages into the storage and ends with it.
  const int64_t v_storage = k_storage - (cache.packed ? view->pages_per_block : 0);
  view->k_pages = cache.k_pages > 0 ? cache.k_pages : k_storage;
  view->v_pages = cache.v_pages > 0 ? cache.v_pages : v_storage;
  if (Status status =
          trim({view->k_pages, view->v_pages}, "views", view->max_page_id, &view->pages, error);
      status != Status::kOk) {
    return status;
  }
  view->dropped_k_pages = view->k_pages - view->pages;
  if (cache.scale != Scale::kTokenHead) return Status::kOk;
  const PageCounts scales = {cache.k_scale_pages > 0 ? cache.k_scale_pages : k_storage,
                             cache.v_scale_pages > 0 ? cache.v_scale_pages : v_storage};
  const Status status = trim(scales, "scales", view->max_page_id, &view->k_scale_pages, error);
  view->v_scale_pages = view->k_scale_pages;
  return status;
}

Status resolve_dtypes(const KvCache& cache, std::string_view arch, KvView* view, Error* error) {
  const DtypePair derived = derive_dtypes(cache.cache_dtype, cache.storage_dtype, arch);
  const auto mismatch = [&](Dtype found, const char* what, Dtype expected) {
    return error->set(Status::kPlanError, Code::kDtypeMismatch, -1, static_cast<int64_t>(found),
                      static_cast<int64_t>(expected),
                      "kv_cache: %s %s contradicts the cache dtype, whose bytes are %s on %.*s",
                      what, name(found), name(expected), static_cast<int>(arch.size()),
                      arch.data());
  };
  if (cache.view_dtype != Dtype::kNone && cache.view_dtype != derived.view) {
    return mismatch(cache.view_dtype, "view_dtype", derived.view);
  }
  if (bytes_per_element(derived.storage) != bytes_per_element(derived.view)) {
    return mismatch(derived.storage, "storage_dtype", derived.view);
  }
  view->storage_dtype = derived.storage;
  view->view_dtype = derived.view;
  view->label = cache.typed ? derived.view : derived.storage;
  return Status::kOk;
}

// `row_size`: elements of a token and head; K's and V's pages are of one size, so of the longer.
Status resolve_offsets(const KvCache& cache, int32_t num_kv_heads, int32_t row_size, KvView* view,
                       Error* error) {
  __int128 stride = cache.block_stride;
  if (stride == 0) {
    stride = static_cast<__int128>(cache.block_size) * row_size;
    if (cache.layout != Layout::kMla) stride *= num_kv_heads;
    if (cache.packed) stride *= 2;
  }
  const __int128 elements = stride * cache.num_blocks;
  if (elements > INT64_MAX / 8) {
    return error->set(Status::kPlanError, Code::kValueOutOfRange, -1, cache.num_blocks,
                      static_cast<int64_t>(INT64_MAX / 8 / stride),
                      "kv_cache: %d blocks have more elements than 64-bit offsets can address",
                      cache.num_blocks);
  }
  view->block_stride = static_cast<int64_t>(stride);
  view->last_offset = static_cast<int64_t>(elements) - 1;
  view->needs_64bit = view->last_offset > INT32_MAX;
  if (!exceeds(cache.offset_limit, *view)) return Status::kOk;
  return error->set(
      Status::kPlanError, Code::kOffsetOverflow, -1, view->last_offset, cache.offset_limit.max,
      "kv_cache: the last element is at offset %lld (%lld bytes in all), the limit "
      "is %lld %s",
      static_cast<long long>(view->last_offset),
      static_cast<long long>((view->last_offset + 1) * bytes_per_element(view->view_dtype)),
      static_cast<long long>(cache.offset_limit.max),
      cache.offset_limit.unit == OffsetUnit::kBytes ? "bytes" : "elements");
}

}  // namespace

bool exceeds(const OffsetLimit& limit, const KvView& view) {
  switch (limit.unit) {
    case OffsetUnit::kElements:
      return view.last_offset > limit.max;
    case OffsetUnit::kBytes:
      return (view.last_offset + 1) * bytes_per_element(view.view_dtype) - 1 > limit.max;
    case OffsetUnit::kNone:
      break;
  }
  return false;
}

Status resolve_kv_view(const KvCache& cache, int32_t num_kv_heads, int32_t head_size,
                       int32_t v_head_size, std::string_view arch, KvView* view, Error* error) {
  *view = KvView{};
  Status status = check_ranges(cache, error);
  if (status == Status::kOk) status = check_layout(cache, head_size, v_head_size, error);
  if (status == Status::kOk) status = resolve_pages(cache, view, error);
  if (status == Status::kOk) status = resolve_dtypes(cache, arch, view, error);
  if (status == Status::kOk) {
    const int32_t row_size = std::max(head_size, v_head_size);
    status = resolve_offsets(cache, num_kv_heads, row_size, view, error);
  }
  return status;
}

}  // namespace attnplan
