#include "tool/load_documents.h"

#include "tool/each_document.h"

namespace attnplan::tool {

std::optional<std::vector<json::BatchDocument>> load_documents(const std::string& file,
                                                               const std::string& default_backend,
                                                               std::string* problem) {
  std::vector<json::BatchDocument> documents;
  const auto visit = [&](const Document& document, const json::Source& source) {
    const auto bad =
        json::parse_batch(document.text, source, default_backend, documents.emplace_back());
    if (bad) *problem = bad->message;
    return !bad;
  };
  const std::string unusable = read_documents(
      file, [] {}, visit);
  if (!unusable.empty()) *problem = unusable;
  if (!problem->empty()) return std::nullopt;
  return documents;
}

}  // namespace attnplan::tool
