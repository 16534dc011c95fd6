#include "json/match.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace attnplan::json {
namespace {

using Json = nlohmann::json;

std::string shown(const Json& value) {
  constexpr size_t kLongest = 200;
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

bool matches_item_by_item(std::string_view key) {
  return key == "segments" || key == "warnings" || key == "chunks";
}

std::string compare(const Json& expect, const Json& actual, const std::string& path,
                    std::string_view key);

std::string compare_objects(const Json& expect, const Json& actual, const std::string& path) {
  if (!actual.is_object())
    return fmt::format("{}: expected an object, got {}", path, shown(actual));
  for (const auto& [key, value] : expect.items()) {
    const std::string member = path.empty() ? key : fmt::format("{}.{}", path, key);
    const auto found = actual.find(key);
    if (found == actual.end()) return fmt::format("{}: missing", member);
    std::string difference = compare(value, *found, member, key);
    if (!difference.empty()) return difference;
  }
  return {};
}

std::string compare_items(const Json& expect, const Json& actual, const std::string& path) {
  if (!actual.is_array() || actual.size() != expect.size()) {
    return fmt::format("{}: expected {} items, got {}", path, expect.size(), shown(actual));
  }
  for (size_t i = 0; i < expect.size(); ++i) {
    std::string difference = compare(expect[i], actual[i], fmt::format("{}[{}]", path, i), {});
    if (!difference.empty()) return difference;
  }
  return {};
}

// `true` is not 1 for the JSON library either.
std::string compare(const Json& expect, const Json& actual, const std::string& path,
                    std::string_view key) {
  if (expect.is_object()) return compare_objects(expect, actual, path);
  if (expect.is_array() && matches_item_by_item(key)) return compare_items(expect, actual, path);
  if (expect == actual) return {};
  return fmt::format("{}: expected {}, got {}", path, shown(expect), shown(actual));
}

}  // namespace

std::string mismatch(std::string_view expect, std::string_view plan) {
  const Json expected = Json::parse(expect, nullptr, false);
  const Json actual = Json::parse(plan, nullptr, false);
  if (!expected.is_object()) return "\"expect\" is no object";
  if (actual.is_discarded()) return "the plan document is not well-formed";
  return compare(expected, actual, {}, {});
}

}  // namespace attnplan::json
