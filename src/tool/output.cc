#include "tool/output.h"

#include <unistd.h>

#include <cerrno>
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

}  // namespace attnplan::tool
