// Text of bounded length, formatted without memory: an error must not need any.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace attnplan {

class Sentence {
 public:
  // What does not fit is cut off.
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    const auto result =
        fmt::format_to_n(text_ + size_, kMost - size_, format, std::forward<Args>(args)...);
    size_ = std::min(kMost, size_ + result.size);
    text_[size_] = 0;
  }
  // All of it, or, where it does not fit whole, nothing and false.
  bool append(std::string_view text) {
    if (text.size() > kMost - size_) return false;
    add("{}", text);
    return true;
  }
  std::string_view view() const { return {text_, size_}; }
  const char* c_str() const { return text_; }

  static constexpr size_t kMost = 511;  // with its NUL what Error::message holds

 private:
  size_t size_ = 0;
  char text_[kMost + 1] = {};
};

}  // namespace attnplan
