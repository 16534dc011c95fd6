#include "json/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "json/nearest.h"

namespace attnplan::json {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kInt32Min = std::numeric_limits<int32_t>::min();

bool fits_int32(int64_t value) { return value >= kInt32Min && value <= kInt32Max; }
int32_t saturate(int64_t value) {
  return static_cast<int32_t>(std::clamp(value, kInt32Min, kInt32Max));
}
int64_t bound_of(int64_t value) { return value < 0 ? kInt32Min : kInt32Max; }

// A word of the document as a message shows it.
std::string shown(std::string_view word) {
  constexpr size_t kLongest = 60;
  if (word.size() <= kLongest) return fmt::format("\"{}\"", word);
  size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(word[cut]) & 0xC0) == 0x80) --cut;  // whole UTF-8
  return fmt::format("\"{}...\"", word.substr(0, cut));
}

std::string list_of(std::span<const Word> words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 == words.size() ? " or " : ", ";
    list += words[i].text;
  }
  return list;
}

}  // namespace

std::string Reader::where(size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t last_break = before.rfind('\n');
  const int64_t column = lines == 0 ? source_.column + static_cast<int64_t>(offset)
                                    : static_cast<int64_t>(offset - last_break);
  return fmt::format("{}:{}:{}: ", source_.file, source_.line + lines, column);
}

std::string Reader::path(const Place& place) const {
  if (place.parent == nullptr) return {};
  std::string path = this->path(*place.parent);
  if (place.index >= 0) return path + fmt::format("[{}]", place.index);
  if (!path.empty()) path += '.';
  path += place.key;
  return path;
}

std::string_view Reader::text_of(const Place& place) const {
  return text_.substr(node(place).begin, node(place).end - node(place).begin);
}

std::string Reader::origin(const Place& place) const {
  const std::string key = path(place);
  return where(node(place).begin) + (key.empty() ? std::string() : shown(key) + ": ");
}

void Reader::fail(const Place& place, std::string_view what, int64_t value, int64_t limit) {
  if (error_) return;
  error_ = DocumentError{origin(place), value, limit};
  error_->message += what;
}

void Reader::fail(const WideInt& wide) {
  if (error_) return;
  error_ = DocumentError{fmt::format("{}{} is beyond int32", wide.origin, wide.value), wide.value,
                         bound_of(wide.value)};
}

void Reader::fail_syntax(const SyntaxError& problem) {
  if (!error_) error_ = DocumentError{where(problem.offset) + problem.message};
}

void Reader::expected(const Place& place, std::string_view what) {
  fail(place, fmt::format("expected {}, got {}", what, describe(node(place).kind)));
}

void Reader::require(const Place& place, std::string_view key) {
  if (error_ || has(place, key)) return;
  fail(place, fmt::format("required key \"{}\" is missing", key));
}

void Reader::unknown_key(uint32_t key_node, const Place& member,
                         std::span<const std::string_view> known) {
  if (error_) return;
  const std::string_view hint = nearest(member.key, known);
  error_ = DocumentError{where(tree_.nodes[key_node].begin)};
  error_->message += fmt::format("{}: unknown key", shown(path(member)));
  if (!hint.empty()) error_->message += fmt::format(", did you mean \"{}\"?", hint);
}

void Reader::range_fault(std::optional<RangeFault>& slot, const Place& place, int64_t value,
                         int64_t limit, std::string_view what, int32_t request) {
  if (slot && (request < 0 || slot->request <= request)) return;
  slot = RangeFault{
      fmt::format("{}\"{}\" is {}, {}", where(node(place).begin), path(place), value, what),
      request, value, limit};
}

bool Reader::boolean(const Place& place) {
  if (node(place).kind == Kind::kBool) return node(place).integer != 0;
  expected(place, "true or false");
  return false;
}

std::string_view Reader::string(const Place& place) {
  if (node(place).kind == Kind::kString) return tree_.string(place.node);
  expected(place, "a string");
  return {};
}

std::string_view Reader::c_string(const Place& place) {
  const std::string_view value = string(place);
  if (value.find('\0') != std::string_view::npos) fail(place, "holds a NUL character");
  return value;
}

int64_t Reader::int64(const Place& place) {
  if (node(place).kind == Kind::kInteger) return node(place).integer;
  expected(place, "an integer");
  return 0;
}

int32_t Reader::int32(const Place& place) {
  const int64_t value = int64(place);
  if (fits_int32(value)) return static_cast<int32_t>(value);
  range_fault(scalar_fault_, place, value, bound_of(value), "beyond int32");
  return 0;
}

int32_t Reader::cache_int32(const Place& place) {
  const int64_t value = int64(place);
  if (fits_int32(value)) return static_cast<int32_t>(value);
  range_fault(cache_fault_, place, value, bound_of(value), "beyond int32");
  return 0;
}

int32_t Reader::count(const Place& place) {
  const int32_t value = int32(place);
  if (value >= 0) return value;
  range_fault(scalar_fault_, place, value, 0, "it must be at least 0");
  return 0;
}

int32_t Reader::positive(const Place& place) {
  const int32_t value = int32(place);
  if (value >= 1 || error_) return value;
  const int64_t written = node(place).integer;  // 0 may also be what is left of a larger one
  if (fits_int32(written)) {
    range_fault(scalar_fault_, place, written, 1, "it must be at least 1");
  }
  return 0;
}

int32_t Reader::word(const Place& place, std::span<const Word> words) {
  const std::string_view text = string(place);
  for (const Word& word : words) {
    if (word.text == text) return word.value;
  }
  fail(place, fmt::format("expected {}, got {}", list_of(words), shown(text)));
  return 0;
}

uint32_t Reader::word_set(const Place& place, std::span<const Word> words) {
  uint32_t set = 0;
  for_each_element(place, [&](const Place& element) { set |= 1u << word(element, words); });
  return set;
}

void Reader::request_ints(const Place& place, std::vector<int32_t>& out, int shift) {
  out.reserve(std::max<size_t>(1, node(place).size));  // never a null pointer: null means absent
  int64_t previous = INT64_MIN;
  for_each_element(place, [&](const Place& element) {
    const int64_t value = int64(element);
    int32_t kept = saturate(value);
    if (!fits_int32(value)) {
      const auto request = static_cast<int32_t>(std::max<int64_t>(0, element.index - shift));
      range_fault(request_fault_, element, value, bound_of(value), "beyond int32", request);
    }
    // Offsets that decrease beyond int32 still decrease.
    if (shift != 0 && value < previous && !out.empty() && kept >= out.back()) kept = out.back() - 1;
    previous = value;
    out.push_back(kept);
  });
}

void Reader::saturating_ints(const Place& place, std::vector<int32_t>& out,
                             std::vector<WideInt>& wide) {
  for_each_element(place, [&](const Place& element) {
    const int64_t value = int64(element);
    if (!fits_int32(value)) wide.push_back({out.size(), value, origin(element)});
    out.push_back(saturate(value));
  });
}

void Reader::ints(const Place& place, std::vector<int32_t>& out) {
  out.reserve(std::max<size_t>(1, node(place).size));
  for_each_element(place, [&](const Place& element) { out.push_back(int32(element)); });
}

void Reader::int64s(const Place& place, std::vector<int64_t>& out) {
  out.reserve(std::max<size_t>(1, node(place).size));
  for_each_element(place, [&](const Place& element) { out.push_back(int64(element)); });
}

void Reader::booleans(const Place& place, std::vector<uint8_t>& out) {
  out.reserve(std::max<size_t>(1, node(place).size));
  for_each_element(place, [&](const Place& element) { out.push_back(boolean(element) ? 1 : 0); });
}

}  // namespace attnplan::json
