// The arithmetic of a cache view, told in sentences.
#pragma once

#include <string>
#include <vector>

#include "attnplan.h"

namespace attnplan::tool {

// One step of the arithmetic a sentence: pages, strides, why views are trimmed and why that is
// legal, dtypes, the last element. `arch` is that of the configuration; NULL: the default.
std::vector<std::string> kv_sentences(const attnplan_kv_cache& cache, const attnplan_kv_view& view,
                                      const char* arch);

}  // namespace attnplan::tool
