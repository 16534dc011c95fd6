#include "tool/kv_document.h"

#include <algorithm>

#include "json/json_tree.h"

namespace attnplan::tool {

std::string with_empty_batch(std::string_view text) {
  std::string completed{text};
  json::Tree tree;
  if (json::parse_tree(text, tree) || tree.nodes.empty()) return completed;
  const json::Node& root = tree.nodes[0];
  if (root.kind != json::Kind::kObject) return completed;
  constexpr std::string_view kLengths[] = {"query_lens", "query_start_loc", "seq_lens",
                                           "num_computed_tokens"};
  const bool has_lengths =
      std::any_of(std::begin(kLengths), std::end(kLengths),
                  [&](std::string_view key) { return tree.find(0, key) != 0; });
  if (has_lengths) return completed;
  completed.insert(root.end - 1, root.size == 0 ? R"("query_lens":[],"seq_lens":[])"
                                                : R"(,"query_lens":[],"seq_lens":[])");
  return completed;
}

}  // namespace attnplan::tool
