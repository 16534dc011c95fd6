// Where the resolved view says that an element lies: page id times stride plus offset.
#pragma once

#include <cstdint>

#include "attnplan.h"
#include "storage.h"

namespace attnplan::kv_test {

// The id that a page table holds for the page of this element; the same for K and V.
int64_t page_id(const attnplan_kv_view& view, const Element& what);

// The address of the element, in elements from the start of K's storage. The page's content is
// described by the cache's letters; everything outside the page by the view alone.
int64_t view_address(const attnplan_kv_view& view, const SmallCache& cache, const Element& what);

}  // namespace attnplan::kv_test
