#include "tool/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace attnplan::tool {
namespace {

constexpr int64_t kWidth = 40;

}  // namespace

ProgressBar::ProgressBar(std::string_view what, int64_t total)
    : what_(what), total_(total), shown_(isatty(STDOUT_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (!shown_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
}

void ProgressBar::advance() {
  ++done_;
  if (!shown_) return;
  const auto filled = static_cast<size_t>(done_ * kWidth / total_);
  fmt::print("\r{} [{:.<{}}] {}/{}", what_, std::string(filled, '#'), kWidth, done_, total_);
  std::fflush(stdout);
}

}  // namespace attnplan::tool
