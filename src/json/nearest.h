// "Did you mean": the known word that a wrong one is a slip of.
#pragma once

#include <span>
#include <string_view>

namespace attnplan::json {

// Empty where none is near. Words of more than 40 bytes are no slips.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace attnplan::json
