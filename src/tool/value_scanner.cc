#include "tool/value_scanner.h"

namespace attnplan::tool {
namespace {

constexpr size_t kMaxDepth = 1000;  // the parser allows fewer, and says so

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// Of a number or of true, false and null; which of them, and whether well spelt, the parser says.
bool is_scalar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

}  // namespace

void ValueScanner::after_value() {
  if (objects_.empty()) complete_ = true;
  expect_ = Expect::kCommaOrEnd;
}

bool ValueScanner::open(bool object) {
  if (expect_ != Expect::kValue && expect_ != Expect::kValueOrEnd) return false;
  if (objects_.size() == kMaxDepth) return false;
  objects_.push_back(object);
  expect_ = object ? Expect::kKeyOrEnd : Expect::kValueOrEnd;
  return true;
}

bool ValueScanner::close(bool object) {
  const bool may_end = expect_ == Expect::kCommaOrEnd ||
                       expect_ == (object ? Expect::kKeyOrEnd : Expect::kValueOrEnd);
  if (!may_end || objects_.empty() || objects_.back() != object) return false;
  objects_.pop_back();
  after_value();
  return true;
}

// False where `c` cannot stand here.
bool ValueScanner::step(char c) {
  const bool value_may_start = expect_ == Expect::kValue || expect_ == Expect::kValueOrEnd;
  switch (c) {
    case '{':
    case '[':
      return open(c == '{');
    case '}':
    case ']':
      return close(c == '}');
    case ',':
      if (expect_ != Expect::kCommaOrEnd) return false;
      expect_ = objects_.back() ? Expect::kKey : Expect::kValue;
      return true;
    case ':':
      if (expect_ != Expect::kColon) return false;
      expect_ = Expect::kValue;
      return true;
    case '"':
      if (!value_may_start && expect_ != Expect::kKey && expect_ != Expect::kKeyOrEnd) return false;
      in_string_ = true;
      return true;
    default:
      if (!is_scalar(c) || !value_may_start) return false;
      in_scalar_ = true;
      return true;
  }
}

ValueScanner::State ValueScanner::scan(std::string_view text) {
  while (at_ < text.size()) {
    const char c = text[at_];
    if (in_string_) {
      if (static_cast<unsigned char>(c) < 0x20) return State::kBroken;
      if (!escaped_ && c == '"') {
        in_string_ = false;
        const bool key = expect_ == Expect::kKey || expect_ == Expect::kKeyOrEnd;
        key ? void(expect_ = Expect::kColon) : after_value();
      }
      escaped_ = !escaped_ && c == '\\';
    } else if (in_scalar_ && is_scalar(c)) {
      // goes on
    } else {
      if (in_scalar_) {
        in_scalar_ = false;
        after_value();
        if (complete_) return State::kComplete;
      }
      if (!is_blank(c) && !step(c)) {
        ++at_;
        return State::kBroken;
      }
    }
    ++at_;
    if (complete_) return State::kComplete;
  }
  return State::kOpen;
}

}  // namespace attnplan::tool
