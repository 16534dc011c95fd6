// Numbers of the command line that count something.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace attnplan::tool {

// Digits and nothing else; where the option's own type holds less, its conversion says so.
inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) {
        uint64_t number = 0;
        const char* end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, number);
        const bool good = problem == std::errc() && rest == end;
        return good ? std::string() : "\"" + text + "\" is no whole number from 0 on";
      },
      "0...");
}

}  // namespace attnplan::tool
