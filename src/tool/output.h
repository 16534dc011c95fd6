// Standard output, buffered: written when full, before the tool waits for input, and at the end.
#pragma once

#include <string>

namespace attnplan::tool {

class Output {
 public:
  // Append here, then call settle().
  std::string& text() { return text_; }
  void settle();
  void flush();
  // Flushes; false, and said on standard error, where something could not be written.
  bool finish();

  // True where nobody reads any more: stop, and say nothing about it.
  bool closed() const { return closed_; }
  // errno of a write that failed for another reason, else 0.
  int error() const { return error_; }

 private:
  std::string text_;
  bool closed_ = false;
  int error_ = 0;
};

}  // namespace attnplan::tool
