#include "tool/document_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "json/json_tree.h"
#include "tool/value_scanner.h"

namespace attnplan::tool {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // byte order mark of UTF-8
constexpr std::string_view kLineEnd = "\n";
constexpr std::string_view kRestart = "\n{";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

}  // namespace

DocumentReader::DocumentReader(int fd, Form form, std::function<void()> before_read)
    : fd_(fd), form_(form), before_read_(std::move(before_read)) {}

// Appends what one read brings; false at the end. Moves what is pending to the front first.
bool DocumentReader::refill() {
  if (at_end_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  before_read_();
  const size_t old_size = buffer_.size();
  buffer_.resize(old_size + kReadBytes);
  ssize_t got = 0;
  do {
    got = read(fd_, buffer_.data() + old_size, kReadBytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) error_ = errno;
  buffer_.resize(old_size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  at_end_ = got <= 0;
  return got > 0;
}

void DocumentReader::consume(size_t bytes) {
  const std::string_view gone = pending().substr(0, bytes);
  const size_t last_break = gone.rfind('\n');
  if (last_break == std::string_view::npos) {
    column_ += static_cast<int64_t>(bytes);
  } else {
    line_ += std::count(gone.begin(), gone.end(), '\n');
    column_ = static_cast<int64_t>(bytes - last_break);
  }
  begin_ += bytes;
}

bool DocumentReader::skip_blanks() {
  do {
    const size_t blanks = std::min(pending().find_first_not_of(kBlanks), pending().size());
    consume(blanks);
    if (!pending().empty() && !skip_mark()) return true;
  } while (!pending().empty() || refill());
  return false;
}

// Editors put a mark in front of a file, and files are put together: each document may have one.
bool DocumentReader::skip_mark() {
  while (pending().size() < kMark.size() && kMark.starts_with(pending())) {
    if (!refill()) return false;
  }
  if (!pending().starts_with(kMark)) return false;
  consume(kMark.size());
  return true;
}

// Consumes everything up to `mark` and its line break; false where no mark comes.
bool DocumentReader::skip_past(std::string_view mark) {
  while (true) {
    const size_t at = pending().find(mark);
    if (at != std::string_view::npos) {
      consume(at + 1);
      return true;
    }
    // The mark may be cut in two by the end of the buffer.
    consume(pending().size() - std::min(pending().size(), mark.size() - 1));
    if (!refill()) return false;
  }
}

bool DocumentReader::next(Document* document) {
  consume(handed_);
  handed_ = 0;
  if (!skip_.empty() && !skip_past(skip_)) return false;
  skip_ = {};
  return form_ == Form::kLines ? next_line(document) : next_value(document);
}

bool DocumentReader::next_line(Document* document) {
  skip_mark();
  size_t seen = 0;
  while (true) {
    const size_t end = pending().find('\n', seen);
    const bool complete = end != std::string_view::npos;
    const size_t size = complete ? end : pending().size();
    if (size > json::kMaxTextBytes) {
      skip_ = complete ? std::string_view{} : kLineEnd;
    } else if (!complete) {
      seen = size;
      if (refill()) continue;
      if (error_ != 0) return false;
    }
    const std::string_view text = pending().substr(0, size);
    if (!is_blank(text)) {
      *document = {text, line_, column_};
      handed_ = size;
      return true;
    }
    if (!complete) return false;
    consume(size + 1);
    skip_mark();
    seen = 0;
  }
}

bool DocumentReader::next_value(Document* document) {
  if (!skip_blanks()) return false;
  ValueScanner scanner;
  ValueScanner::State state = scanner.scan(pending());
  while (state == ValueScanner::State::kOpen && pending().size() <= json::kMaxTextBytes &&
         refill()) {
    state = scanner.scan(pending());
  }
  if (error_ != 0) return false;
  size_t size = scanner.end();
  if (state != ValueScanner::State::kComplete) {
    const size_t restart = pending().substr(0, size).find(kRestart);
    if (restart != std::string_view::npos) {
      size = restart;
    } else {
      skip_ = kRestart;
    }
  }
  *document = {pending().substr(0, size), line_, column_};
  handed_ = size;
  return true;
}

}  // namespace attnplan::tool
