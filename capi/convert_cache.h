// Caches and enumerators of the C ABI. Shared by both libraries.
#pragma once

#include <initializer_list>

#include "attnplan/kv_cache.h"
#include "attnplan_types.h"

namespace attnplan {

struct Enumerator {
  const char* what;
  int32_t value;
  int32_t last;
};

// UNIMPLEMENTED where one is none that this version knows.
Status check_enums(std::initializer_list<Enumerator> enums, Error* error);

// Checks struct_size and enumerators.
Status to_cache(const attnplan_kv_cache* given, KvCache* cache, Error* error);

}  // namespace attnplan
