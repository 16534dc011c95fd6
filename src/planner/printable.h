// Small pieces of the sentences for a person.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace attnplan {

inline std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// A name as it may stand in a line: a caller's control characters would break it, or the terminal.
inline std::string printable(std::string_view name) {
  std::string text{name};
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return text;
}

}  // namespace attnplan
