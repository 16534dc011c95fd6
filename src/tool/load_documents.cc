#include "tool/load_documents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tool/document_reader.h"

namespace attnplan::tool {

std::optional<std::vector<json::BatchDocument>> load_documents(const std::string& file,
                                                               const std::string& default_backend,
                                                               std::string* problem) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  std::vector<json::BatchDocument> documents;
  if (fd >= 0) {
    DocumentReader reader(fd, DocumentReader::Form::kLines, [] {});
    Document document;
    while (problem->empty() && reader.next(&document)) {
      const json::Source source{file, document.line, document.column};
      const auto bad =
          json::parse_batch(document.text, source, default_backend, documents.emplace_back());
      if (bad) *problem = bad->message;
    }
    error = reader.error();
    close(fd);
  }
  if (error != 0) *problem = fmt::format("cannot read {}: {}", file, std::strerror(error));
  if (!problem->empty()) return std::nullopt;
  return documents;
}

}  // namespace attnplan::tool
