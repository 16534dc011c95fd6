// Documents that describe a cache and may leave out the batch.
#pragma once

#include <string>
#include <string_view>

namespace attnplan::tool {

// `text` with an empty batch, where it says nothing about lengths; else unchanged. Everything else
// stays where it stood, so errors point at the right place.
std::string with_empty_batch(std::string_view text);

}  // namespace attnplan::tool
