// Cuts an input into documents, holding no more than one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace attnplan::tool {

struct Document {
  std::string_view text;  // valid until the next call
  int64_t line = 1;       // where its first byte stands
  int64_t column = 1;
};

class DocumentReader {
 public:
  enum class Form {
    kLines,   // one document a line; blank lines are skipped
    kStream,  // one value behind the other, each over as many lines as it likes
  };

  // Reads the open file `fd`; `before_read` runs before each call that may wait for input.
  DocumentReader(int fd, Form form, std::function<void()> before_read);

  // False at the end of the input, or where it cannot be read: then error() is its errno. Byte
  // order marks in front of documents are skipped. A stream goes on behind a document that no
  // bracket ends at the next line that starts with a brace. What is longer than any parser takes is
  // handed out cut, for the parser to refuse.
  bool next(Document* document);
  int error() const { return error_; }

 private:
  bool next_line(Document* document);
  bool next_value(Document* document);
  bool refill();
  bool skip_blanks();
  bool skip_mark();
  bool skip_past(std::string_view mark);
  void consume(size_t bytes);
  std::string_view pending() const { return std::string_view{buffer_}.substr(begin_); }

  int fd_;
  Form form_;
  std::function<void()> before_read_;
  std::string buffer_;
  size_t begin_ = 0;       // of what is not consumed yet
  size_t handed_ = 0;      // bytes that the last call handed out
  std::string_view skip_;  // not empty: what comes before this mark belongs to a broken document
  int64_t line_ = 1;
  int64_t column_ = 1;
  bool at_end_ = false;
  int error_ = 0;
};

}  // namespace attnplan::tool
