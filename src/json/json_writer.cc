#include "json/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace attnplan::json {
namespace {

// Bytes of the UTF-8 sequence that starts at text[0]; 0 where there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {  // no overlong forms, no surrogates
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void append_escape(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

}  // namespace

void JsonWriter::integer(int64_t number) {
  separate();
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out_.append(digits.data(), end);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();  // JSON has no other word for it
  separate();
  std::array<char, 40> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out_.append(digits.data(), end);
}

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  size_t plain = 0;  // most texts need no second look
  while (plain < text.size() && is_plain(text[plain])) ++plain;
  out_.append(text, 0, plain);
  text.remove_prefix(plain);
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const size_t length = sequence_length(text);
    if (length == 0) {
      out_ += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\' || c < 0x20) {
      append_escape(out_, c);
    } else {
      out_ += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  out_ += '"';
}

}  // namespace attnplan::json
