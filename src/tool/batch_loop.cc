#include "tool/batch_loop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tool/document_reader.h"

namespace attnplan::tool {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

ExitStatus worse(ExitStatus a, ExitStatus b) { return std::max(a, b); }

}  // namespace

void BatchLoop::report(const std::string& file, int error) {
  output_.flush();  // answers so far stand before the complaint
  fmt::print(stderr, "attnplan: cannot read {}: {}\n", file, std::strerror(error));
  status_ = kExitUnusable;
}

void BatchLoop::run_file(const std::string& file) {
  const bool is_stdin = file == "-";
  const int fd = is_stdin ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return report(file, errno);
  const auto form =
      ends_with(file, ".jsonl") ? DocumentReader::Form::kLines : DocumentReader::Form::kStream;
  DocumentReader reader(fd, form, [this] { output_.flush(); });
  Document document;
  while (!output_.closed() && reader.next(&document)) {
    const json::Source source{is_stdin ? "stdin" : file, document.line, document.column};
    json::BatchDocument batch;
    const auto problem = json::parse_batch(document.text, source, default_backend, batch);
    const json::Outcome outcome = problem ? json::outcome_of(*problem) : session_.plan(batch);
    const bool good = answer(batch, outcome, output_.text());
    output_.settle();
    if (!good) status_ = worse(status_, outcome.bad_document() ? kExitUnusable : kExitRefused);
  }
  if (reader.error() != 0) report(file, reader.error());
  if (!is_stdin) close(fd);
}

ExitStatus BatchLoop::run() {
  for (const std::string& file : files) {
    if (output_.closed()) break;
    run_file(file);
  }
  output_.flush();
  if (output_.error() != 0) {
    fmt::print(stderr, "attnplan: cannot write: {}\n", std::strerror(output_.error()));
    status_ = kExitUnusable;
  }
  return status_;
}

}  // namespace attnplan::tool
