#include "json/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace attnplan::json {
namespace {

// Feeds the lexer and tells how far it has read, which its callbacks do not.
class Cursor {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  Cursor(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

// The parser's words without its prefix and without the token, which may be no valid UTF-8.
std::string message_of(std::string_view what) {
  const size_t dash = what.find(" - ");
  if (dash != std::string_view::npos) what.remove_prefix(dash + 3);
  const size_t last_read = what.find("; last read");
  std::string message = "not well-formed JSON: ";
  message += what.substr(0, last_read);
  if (last_read == std::string_view::npos) return message;
  const size_t expected = what.rfind("'; expected ");
  if (expected != std::string_view::npos) message += what.substr(expected + 1);
  return message;
}

// Blanks, separators, and the byte order mark that a text may start with.
bool is_between(char c) {
  return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\r' || c == '\t' || c == '\xEF' ||
         c == '\xBB' || c == '\xBF';
}

bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Receives the parser's events and appends nodes. Method names are the parser's.
class Builder {
 public:
  Builder(std::string_view text, const char* const* seen, Tree& tree)
      : text_(text), seen_(seen), tree_(tree) {}

  std::optional<SyntaxError> error;

  bool null() { return scalar(Kind::kNull, 0); }
  bool boolean(bool value) { return scalar(Kind::kBool, value ? 1 : 0); }
  bool number_integer(int64_t value) { return scalar(Kind::kInteger, value); }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(INT64_MAX)) return scalar(Kind::kHugeInteger, 0);
    return scalar(Kind::kInteger, static_cast<int64_t>(value));
  }
  bool number_float(double, const std::string& token) {
    const bool plain = token.find_first_of(".eE") == std::string::npos;
    return scalar(plain ? Kind::kHugeInteger : Kind::kFraction, 0);
  }
  bool string(std::string& value) { return append_string(value); }
  bool key(std::string& value) { return append_string(value); }
  bool binary(const std::vector<uint8_t>&) { return false; }

  bool start_object(size_t) { return open(Kind::kObject); }
  bool start_array(size_t) { return open(Kind::kArray); }
  bool end_array() { return close(); }
  bool end_object() { return no_duplicate_key(open_.back()) && close(); }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) {
    const size_t offset = std::min(position == 0 ? 0 : position - 1, text_.size());
    const bool overflow = problem.id == 406;  // a number that no double holds
    error =
        SyntaxError{offset, overflow ? "a number beyond every range" : message_of(problem.what())};
    return false;
  }

  uint32_t last_end() const { return last_end_; }

  // Makes the tree of a broken text a tree all the same.
  void close_all() {
    while (!open_.empty()) close();
  }

 private:
  // Where the token just read starts: behind the last one, blanks and separators.
  uint32_t token_begin() const {
    uint32_t begin = last_end_;
    while (begin < text_.size() && is_between(text_[begin])) ++begin;
    return begin;
  }

  uint32_t token_end(Kind kind, uint32_t begin) const {
    const auto seen = static_cast<uint32_t>(*seen_ - text_.data());
    const bool number =
        kind == Kind::kInteger || kind == Kind::kFraction || kind == Kind::kHugeInteger;
    if (!number) return seen;
    // A number ends where the next byte is no part of it, which the lexer has read already.
    uint32_t end = begin;
    while (end < text_.size() && is_of_number(text_[end])) ++end;
    return end;
  }

  Node& append(Kind kind) {
    Node node;
    node.kind = kind;
    node.begin = token_begin();
    node.end = token_end(kind, node.begin);
    node.next = static_cast<uint32_t>(tree_.nodes.size()) + 1;
    last_end_ = node.end;
    tree_.nodes.push_back(node);
    return tree_.nodes.back();
  }

  void count_child() {
    if (!open_.empty()) ++tree_.nodes[open_.back()].size;
  }

  bool scalar(Kind kind, int64_t value) {
    count_child();
    append(kind).integer = value;
    return true;
  }

  bool append_string(const std::string& value) {
    count_child();
    Node& node = append(Kind::kString);
    node.integer = static_cast<int64_t>(tree_.strings.size());
    node.size = static_cast<uint32_t>(value.size());
    tree_.strings += value;
    return true;
  }

  bool open(Kind kind) {
    count_child();
    append(kind);
    if (static_cast<int>(open_.size()) == kMaxDepth) {
      error = SyntaxError{tree_.nodes.back().begin,
                          fmt::format("nested deeper than {} levels", kMaxDepth)};
      return false;
    }
    open_.push_back(static_cast<uint32_t>(tree_.nodes.size()) - 1);
    return true;
  }

  bool close() {
    Node& node = tree_.nodes[open_.back()];
    open_.pop_back();
    if (node.kind == Kind::kObject) node.size /= 2;  // keys and values were counted
    node.next = static_cast<uint32_t>(tree_.nodes.size());
    last_end_ = static_cast<uint32_t>(*seen_ - text_.data());
    node.end = last_end_;
    return true;
  }

  // Sorts the keys, so that a document of a million keys costs no square of that.
  bool no_duplicate_key(uint32_t object) {
    keys_.clear();
    for (uint32_t node = object + 1; node < tree_.nodes.size(); node = tree_.nodes[node + 1].next) {
      keys_.push_back(node);
    }
    std::sort(keys_.begin(), keys_.end(), [this](uint32_t a, uint32_t b) {
      const int order = tree_.string(a).compare(tree_.string(b));
      return order != 0 ? order < 0 : a < b;
    });
    uint32_t first = UINT32_MAX;
    for (size_t i = 1; i < keys_.size(); ++i) {
      if (tree_.string(keys_[i]) == tree_.string(keys_[i - 1])) first = std::min(first, keys_[i]);
    }
    if (first == UINT32_MAX) return true;
    error = SyntaxError{tree_.nodes[first].begin,
                        fmt::format("\"{}\": duplicate key", tree_.string(first))};
    return false;
  }

  std::string_view text_;
  const char* const* seen_;
  Tree& tree_;
  std::vector<uint32_t> open_;  // objects and arrays around the current token
  std::vector<uint32_t> keys_;  // scratch
  uint32_t last_end_ = 0;
};

}  // namespace

const char* describe(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInteger:
      return "an integer";
    case Kind::kFraction:
      return "a number with a fraction or an exponent";
    case Kind::kHugeInteger:
      return "an integer beyond int64";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "?";
}

uint32_t Tree::find(uint32_t node, std::string_view key) const {
  if (nodes[node].kind != Kind::kObject) return 0;
  const uint32_t end = nodes[node].next;
  for (uint32_t at = node + 1; at + 1 < end; at = nodes[at + 1].next) {
    if (string(at) == key) return at + 1;
  }
  return 0;
}

std::optional<SyntaxError> parse_tree(std::string_view text, Tree& tree) {
  tree.nodes.clear();
  tree.strings.clear();
  tree.nodes.reserve(std::min(text.size(), kMaxTextBytes) / 8);
  if (text.size() > kMaxTextBytes) {
    return SyntaxError{0, fmt::format("a document of more than {} MiB", kMaxTextBytes >> 20)};
  }
  const char* seen = text.data();
  const char* end = text.data() + text.size();
  Builder builder(text, &seen, tree);
  nlohmann::json::sax_parse(Cursor(text.data(), &seen), Cursor(end, &seen), &builder);
  if (builder.error) {
    builder.close_all();
    return builder.error;
  }
  // The lexer takes a NUL byte for the end of its input.
  const size_t nul = text.find('\0', builder.last_end());
  if (nul != std::string_view::npos) return SyntaxError{nul, "a NUL byte"};
  return std::nullopt;
}

}  // namespace attnplan::json
