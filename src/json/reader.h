// Typed reading of a Tree: every check of a value is made here, and its message written here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/document_error.h"
#include "json/json_tree.h"

namespace attnplan::json {

// A value in its document. Lives on the stack of whoever reads; the chain spells the key path.
struct Place {
  const Place* parent = nullptr;
  uint32_t node = 0;
  std::string_view key;  // of a member
  int64_t index = -1;    // of an element
};

// One word of a closed vocabulary.
struct Word {
  std::string_view text;
  int32_t value;
};

template <typename Target>
struct Field {
  std::string_view key;
  void (*read)(class Reader&, const Place&, Target&);
};

// Remembers the first error; after it every read returns a harmless value.
class Reader {
 public:
  Reader(std::string_view text, const Tree& tree, const Source& source)
      : text_(text), tree_(tree), source_(source) {}

  const std::optional<DocumentError>& error() const { return error_; }
  const std::optional<RangeFault>& cache_fault() const { return cache_fault_; }
  const std::optional<RangeFault>& request_fault() const { return request_fault_; }
  const std::optional<RangeFault>& scalar_fault() const { return scalar_fault_; }

  const Node& node(const Place& place) const { return tree_.nodes[place.node]; }
  std::string_view text_of(const Place& place) const;
  // "file:line:column: "key.path": ", what messages about the value begin with.
  std::string origin(const Place& place) const;

  void fail(const Place& place, std::string_view what, int64_t value = 0, int64_t limit = 0);
  void fail(const WideInt& wide);
  void fail_syntax(const SyntaxError& problem);
  void expected(const Place& place, std::string_view what);  // ..., got an integer

  bool boolean(const Place& place);
  std::string_view string(const Place& place);
  std::string_view c_string(const Place& place);  // refuses NUL characters
  int64_t int64(const Place& place);
  // 0 where the value is beyond int32, which becomes the scalar fault.
  int32_t int32(const Place& place);
  // The same for the cache description, whose errors come before all others.
  int32_t cache_int32(const Place& place);
  // A count that may be zero: negative ones become the fault, and 0.
  int32_t count(const Place& place);
  // A count that has a default and may not be zero: less than 1 becomes the fault, and 0.
  int32_t positive(const Place& place);
  int32_t word(const Place& place, std::span<const Word> words);

  // Per-request values; beyond int32 saturates and becomes the request fault. `shift` is subtracted
  // from the index to name the request (1 for offsets: entry i + 1 ends request i).
  void request_ints(const Place& place, std::vector<int32_t>& out, int shift = 0);
  // Integers beyond int32 are kept as its ends, and noted with their place.
  void saturating_ints(const Place& place, std::vector<int32_t>& out, std::vector<WideInt>& wide);
  void ints(const Place& place, std::vector<int32_t>& out);  // config lists
  void int64s(const Place& place, std::vector<int64_t>& out);
  void booleans(const Place& place, std::vector<uint8_t>& out);
  // Bits 1 << value.
  uint32_t word_set(const Place& place, std::span<const Word> words);

  template <typename Visit>
  void for_each_element(const Place& place, Visit visit) {
    if (node(place).kind != Kind::kArray) return expected(place, "a list");
    Place element{&place, place.node + 1, {}, 0};
    for (; element.node < node(place).next && !error_; ++element.index) {
      visit(element);
      element.node = tree_.nodes[element.node].next;
    }
  }

  // Reads every member with the field of its key; any other key is an error.
  template <typename Target, size_t kFields>
  void object(const Place& place, const Field<Target> (&fields)[kFields], Target& target) {
    if (node(place).kind != Kind::kObject) return expected(place, "an object");
    for (uint32_t at = place.node + 1; at < node(place).next && !error_;
         at = tree_.nodes[at + 1].next) {
      const Place member{&place, at + 1, tree_.string(at), -1};
      const Field<Target>* found = nullptr;
      for (const Field<Target>& field : fields) {
        if (field.key == member.key) found = &field;
      }
      if (found != nullptr) {
        found->read(*this, member, target);
      } else {
        std::string_view known[kFields];
        for (size_t i = 0; i < kFields; ++i) known[i] = fields[i].key;
        unknown_key(at, member, known);
      }
    }
  }

  bool has(const Place& place, std::string_view key) const {
    return tree_.find(place.node, key) != 0;
  }
  void require(const Place& place, std::string_view key);
  Place member(const Place& place, std::string_view key) const {
    return Place{&place, tree_.find(place.node, key), key, -1};
  }

 private:
  std::string where(size_t offset) const;
  std::string path(const Place& place) const;
  void unknown_key(uint32_t key_node, const Place& member, std::span<const std::string_view> known);
  void range_fault(std::optional<RangeFault>& slot, const Place& place, int64_t value,
                   int64_t limit, std::string_view what, int32_t request = -1);

  std::string_view text_;
  const Tree& tree_;
  const Source& source_;
  std::optional<DocumentError> error_;
  std::optional<RangeFault> cache_fault_;
  std::optional<RangeFault> request_fault_;  // the lowest request, once all arrays are read
  std::optional<RangeFault> scalar_fault_;
};

// `"key": ` readers for tables of fields.
template <auto kMember, typename Target>
void read_int32(Reader& reader, const Place& place, Target& target) {
  target.*kMember = reader.int32(place);
}
template <auto kMember, typename Target>
void read_cache_int32(Reader& reader, const Place& place, Target& target) {
  target.*kMember = reader.cache_int32(place);
}
template <auto kMember, typename Target>
void read_int64(Reader& reader, const Place& place, Target& target) {
  target.*kMember = reader.int64(place);
}
template <auto kMember, typename Target>
void read_positive(Reader& reader, const Place& place, Target& target) {
  target.*kMember = reader.positive(place);
}
template <auto kMember, const auto& kWords, typename Target>
void read_word(Reader& reader, const Place& place, Target& target) {
  target.*kMember = reader.word(place, kWords);
}
// Sets `kFlag` where the boolean equals `kWhen`.
template <uint32_t kFlag, bool kWhen, typename Target>
void read_flag(Reader& reader, const Place& place, Target& target) {
  if (reader.boolean(place) == kWhen) target.flags |= kFlag;
}

}  // namespace attnplan::json
