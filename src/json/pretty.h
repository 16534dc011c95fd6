// Compact JSON laid out for a person.
#pragma once

#include <string>
#include <string_view>

namespace attnplan::json {

// Appends `compact`, as JsonWriter writes it, with one member a line; what fits a line of `width`
// columns stays on one, and long lists of plain values are filled to that width. No line break at
// the end.
void append_pretty(std::string_view compact, std::string& out, size_t width = 100);

}  // namespace attnplan::json
