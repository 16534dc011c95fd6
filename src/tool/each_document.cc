#include "tool/each_document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace attnplan::tool {
namespace {

using Visit = std::function<bool(const Document&, const json::Source&)>;

// errno of the failure, or 0.
int read_file(const std::string& file, Output& output, const Visit& visit, bool* go_on) {
  const bool is_stdin = file == "-";
  const int fd = is_stdin ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const bool lines = file.size() >= 6 && file.compare(file.size() - 6, 6, ".jsonl") == 0;
  DocumentReader reader(fd, lines ? DocumentReader::Form::kLines : DocumentReader::Form::kStream,
                        [&output] { output.flush(); });
  Document document;
  while (*go_on && !output.closed() && reader.next(&document)) {
    *go_on = visit(document, {is_stdin ? "stdin" : file, document.line, document.column});
    output.settle();
  }
  if (!is_stdin) close(fd);
  return reader.error();
}

}  // namespace

ExitStatus each_document(const std::vector<std::string>& files, Output& output,
                         const Visit& visit) {
  ExitStatus status = kExitPlanned;
  bool go_on = true;
  for (const std::string& file : files) {
    if (!go_on || output.closed()) break;
    const int error = read_file(file, output, visit, &go_on);
    if (error == 0) continue;
    output.flush();  // answers so far stand before the complaint
    fmt::print(stderr, "attnplan: cannot read {}: {}\n", file, std::strerror(error));
    status = kExitUnusable;
  }
  return status;
}

}  // namespace attnplan::tool
