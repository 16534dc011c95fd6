// Finds the end of a JSON value without reading what it says.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace attnplan::tool {

class ValueScanner {
 public:
  enum class State {
    kOpen,      // more text is needed
    kComplete,  // end() is one past the value
    kBroken,    // no text can complete it; end() is behind the byte that made it so, but in front
                // of a line break inside a string, which may start the next document
  };

  // Continues with the bytes of `text` behind those already seen; earlier bytes are not read again.
  State scan(std::string_view text);
  size_t end() const { return at_; }

 private:
  enum class Expect { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd };

  bool step(char c);
  bool open(bool object);
  bool close(bool object);
  void after_value();

  std::vector<bool> objects_;  // open brackets; true: a brace
  Expect expect_ = Expect::kValue;
  bool in_string_ = false;
  bool escaped_ = false;
  bool in_scalar_ = false;
  bool complete_ = false;
  size_t at_ = 0;
};

}  // namespace attnplan::tool
