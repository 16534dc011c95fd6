// How a KV cache lies in memory, and the views that kernels get of it. Formulas: docs/kv-cache.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "attnplan/error.h"

namespace attnplan {

enum class Layout : int32_t { kLbnhc, kLbhnc, kLhbnc, kBlhnc, kBlnhc, kBhlnc, kMla };
enum class CacheDtype : int32_t { kAuto, kBf16, kFp16, kFp8, kFp8E4m3, kFp8E5m2, kFp8Inc };
enum class Dtype : int32_t { kNone, kBf16, kFp16, kUint8, kE4m3fn, kE4m3fnuz, kE5m2, kE5m2fnuz };
enum class Scale : int32_t { kNone, kTensor, kHead, kTokenHead, kTokenInline };
enum class OffsetUnit : int32_t { kNone, kElements, kBytes };

const char* name(Dtype dtype);
int32_t bytes_per_element(Dtype dtype);

struct OffsetLimit {
  OffsetUnit unit = OffsetUnit::kNone;  // kNone: no limit
  int64_t max = 0;
};

struct KvCache {
  Layout layout = Layout::kLbnhc;
  bool packed = false;   // inside one block all K pages come first, then all V pages
  bool shuffle = false;  // page content reordered for 16-byte loads; changes no page arithmetic
  bool typed = false;    // the consumer dispatches on dtype
  int32_t num_blocks = 0;
  int32_t block_size = 0;  // tokens per logical block
  int32_t page_size = 0;   // tokens per kernel page; 0: each kernel's own choice
  CacheDtype cache_dtype = CacheDtype::kAuto;
  Dtype storage_dtype = Dtype::kNone;  // kNone: from cache_dtype and arch, likewise the view
  Dtype view_dtype = Dtype::kNone;
  Scale scale = Scale::kNone;
  OffsetLimit offset_limit;
  int64_t k_pages = 0;  // what the views really have; 0: derived
  int64_t v_pages = 0;
  int64_t k_scale_pages = 0;
  int64_t v_scale_pages = 0;
  int64_t block_stride = 0;  // elements
};

// Resolved views. Page counts are in units of page_size tokens.
struct KvView {
  int64_t k_pages = 0;  // given or derived, untrimmed
  int64_t v_pages = 0;
  int64_t pages = 0;  // trimmed to the shorter of the two
  int64_t dropped_k_pages = 0;
  int64_t k_scale_pages = 0;  // trimmed; 0 without per-token scales
  int64_t v_scale_pages = 0;
  int64_t max_page_id = 0;        // the largest id that any block expands to
  int64_t block_page_stride = 0;  // from the layout, never from counts
  int64_t pages_per_block = 0;
  int64_t block_stride = 0;  // elements
  int64_t last_offset = 0;   // elements
  Dtype label = Dtype::kNone;
  Dtype storage_dtype = Dtype::kNone;
  Dtype view_dtype = Dtype::kNone;
  bool packed = false;
  bool needs_64bit = false;
  int32_t page_size = 0;  // page_size of the cache, or block_size where that is absent
};

// Checks the description and resolves it for an architecture ("gfx942", "sm_90", ...). Errors:
// VALUE_OUT_OF_RANGE, LAYOUT_UNSUPPORTED, BLOCK_SIZE_UNSUPPORTED, KV_ROWS_UNADDRESSABLE,
// DTYPE_MISMATCH, OFFSET_OVERFLOW.
Status resolve_kv_view(const KvCache& cache, int32_t num_kv_heads, int32_t head_size,
                       int32_t v_head_size, std::string_view arch, KvView* view, Error* error);

// True where the last element of the cache (its last byte) lies beyond the limit.
bool exceeds(const OffsetLimit& limit, const KvView& view);

}  // namespace attnplan
