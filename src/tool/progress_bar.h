// One line that overwrites itself on a terminal; nothing elsewhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace attnplan::tool {

class ProgressBar {
 public:
  ProgressBar(std::string_view what, int64_t total);
  ~ProgressBar();  // leaves no trace
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance();

 private:
  std::string_view what_;
  int64_t total_;
  int64_t done_ = 0;
  bool shown_;
};

}  // namespace attnplan::tool
