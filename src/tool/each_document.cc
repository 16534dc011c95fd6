#include "tool/each_document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace attnplan::tool {
namespace {

std::string cannot_read(const std::string& file, int error) {
  return fmt::format("cannot read {}: {}", file, std::strerror(error));
}

}  // namespace

std::string read_documents(const std::string& file, const std::function<void()>& before_read,
                           const VisitDocument& visit) {
  const bool is_stdin = file == "-";
  const std::string shown = is_stdin ? "stdin" : file;
  const int fd = is_stdin ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_read(shown, errno);
  const auto form =
      file.ends_with(".jsonl") ? DocumentReader::Form::kLines : DocumentReader::Form::kStream;
  DocumentReader reader(fd, form, before_read);
  Document document;
  bool any = false, go_on = true;
  while (go_on && reader.next(&document)) {
    any = true;
    go_on = visit(document, {shown, document.line, document.column});
  }
  if (!is_stdin) close(fd);
  if (reader.error() != 0) return cannot_read(shown, reader.error());
  return any ? "" : fmt::format("{} holds no document", shown);
}

ExitStatus each_document(const std::vector<std::string>& files, Output& output,
                         const VisitDocument& visit) {
  ExitStatus status = kExitPlanned;
  bool go_on = true;
  const auto visit_and_write = [&](const Document& document, const json::Source& source) {
    go_on = visit(document, source);
    output.settle();
    return go_on && !output.closed();
  };
  for (const std::string& file : files) {
    if (!go_on || output.closed()) break;
    const std::string problem = read_documents(
        file, [&] { output.flush(); }, visit_and_write);
    if (problem.empty()) continue;
    output.flush();  // answers so far stand before the complaint
    fmt::print(stderr, "attnplan: {}\n", problem);
    status = kExitUnusable;
  }
  return output.finish() ? status : kExitUnusable;
}

}  // namespace attnplan::tool
