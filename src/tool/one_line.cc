#include "tool/one_line.h"

#include <fmt/format.h>

namespace attnplan::tool {

std::string one_line(std::string_view text) {
  std::string line;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0u;
    if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\u{:04x}", byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // controls beyond ASCII, in UTF-8
      line += fmt::format("\\u{:04x}", next);
      ++at;
    } else {
      line += text[at];
    }
  }
  return line;
}

}  // namespace attnplan::tool
