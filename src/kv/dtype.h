// Storage and view dtype of a cache: what the allocator calls it, and what the bytes are.
#pragma once

#include <string_view>

#include "attnplan/kv_cache.h"

namespace attnplan {

struct DtypePair {
  Dtype storage;
  Dtype view;
};

// From the engine's cache dtype and the architecture; `storage` where the caller names it.
// gfx940, gfx941 and gfx942 read fp8 as FNUZ, everything else as OCP.
DtypePair derive_dtypes(CacheDtype cache_dtype, Dtype storage, std::string_view arch);

}  // namespace attnplan
