// Text of a document as part of a line.
#pragma once

#include <string>
#include <string_view>

namespace attnplan::tool {

// Control characters, which would break the line or drive the terminal, as JSON escapes them.
std::string one_line(std::string_view text);

}  // namespace attnplan::tool
