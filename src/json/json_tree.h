// The syntax of one JSON text as a flat tree that remembers where everything stood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnplan::json {

enum class Kind : uint8_t {
  kNull,
  kBool,
  kInteger,
  kFraction,     // written with a fraction or an exponent
  kHugeInteger,  // beyond int64
  kString,
  kArray,
  kObject
};

// "a string", "a list", ...: for messages.
const char* describe(Kind kind);

// Nodes stand in document order: the children of an array follow it, an object is followed by key
// (a string) and value in turn. `next` is the node behind the whole value.
struct Node {
  Kind kind = Kind::kNull;
  uint32_t begin = 0;  // byte of the text where the value starts
  uint32_t end = 0;    // one past its last byte
  uint32_t next = 0;
  uint32_t size = 0;    // elements, members, or bytes of a string
  int64_t integer = 0;  // integer, bool, or where a string starts in Tree::strings
};

struct SyntaxError {
  size_t offset = 0;  // byte of the text
  std::string message;
};

// A parsed text. Nodes are addressed by index; the root is node 0.
struct Tree {
  std::vector<Node> nodes;
  std::string strings;  // of all string nodes, unescaped, one behind the other

  std::string_view string(uint32_t node) const {
    const std::string_view all = strings;
    return all.substr(static_cast<size_t>(nodes[node].integer), nodes[node].size);
  }
  // Value of `key` in `node`, or 0 (the root is no member): it has none, or is no object.
  uint32_t find(uint32_t node, std::string_view key) const;
};

inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr int kMaxDepth = 64;

// Parses exactly one value. Refuses what RFC 8259 refuses, duplicate keys, more than kMaxDepth
// levels and more than kMaxTextBytes. On an error the tree holds what was read up to there.
std::optional<SyntaxError> parse_tree(std::string_view text, Tree& tree);

}  // namespace attnplan::json
