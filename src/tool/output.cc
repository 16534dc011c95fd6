#include "tool/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace attnplan::tool {
namespace {

constexpr size_t kFullBytes = size_t{64} << 10;

}  // namespace

void Output::settle() {
  if (text_.size() >= kFullBytes) flush();
}

void Output::flush() {
  std::string_view rest = text_;
  while (!rest.empty() && !closed_ && error_ == 0) {
    const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  text_.clear();
}

bool Output::finish() {
  flush();
  if (error_ == 0) return true;
  fmt::print(stderr, "attnplan: cannot write: {}\n", std::strerror(error_));
  return false;
}

}  // namespace attnplan::tool
