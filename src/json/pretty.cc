#include "json/pretty.h"

namespace attnplan::json {
namespace {

class Printer {
 public:
  Printer(std::string_view text, std::string& out, size_t width)
      : text_(text), out_(out), width_(width), line_start_(out.size()) {}

  void value(size_t indent) {
    const char c = text_[at_];
    if (c != '{' && c != '[') return copy_scalar();
    const size_t end = end_of_value();
    if (column() + inline_size(end) < width_) return copy_inline(end);
    c == '{' ? object(indent) : list(indent);
  }

 private:
  static constexpr size_t kIndent = 2;

  size_t column() const { return out_.size() - line_start_; }

  void new_line(size_t indent) {
    out_ += '\n';
    line_start_ = out_.size();
    out_.append(indent, ' ');
  }

  void object(size_t indent) {
    out_ += '{';
    ++at_;
    while (text_[at_] != '}') {
      new_line(indent + kIndent);
      copy_scalar();  // the key
      out_ += ": ";
      ++at_;
      value(indent + kIndent);
      comma();
    }
    new_line(indent);
    out_ += '}';
    ++at_;
  }

  void list(size_t indent) {
    out_ += '[';
    ++at_;
    const bool fill = !holds_containers();
    bool first = true;
    while (text_[at_] != ']') {
      const size_t next = end_of_value() - at_ + 1;  // and a comma
      if (first || !fill || column() + 1 + next > width_) {
        new_line(indent + kIndent);
      } else {
        out_ += ' ';
      }
      first = false;
      value(indent + kIndent);
      comma();
    }
    new_line(indent);
    out_ += ']';
    ++at_;
  }

  void comma() {
    if (text_[at_] != ',') return;
    out_ += ',';
    ++at_;
  }

  // True where an element of the list just opened is a list or an object.
  bool holds_containers() const { return text_[at_] == '{' || text_[at_] == '['; }

  void copy_scalar() {
    const size_t end = end_of_value();
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  // Bytes of the value up to `end` on one line, with a blank behind every separator.
  size_t inline_size(size_t end) const {
    size_t size = end - at_;
    bool quoted = false;
    for (size_t i = at_; i < end && size < width_; ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        quoted = !quoted;
      } else if (!quoted && (text_[i] == ',' || text_[i] == ':')) {
        ++size;
      }
    }
    return size;
  }

  void copy_inline(size_t end) {
    bool quoted = false;
    for (; at_ < end; ++at_) {
      const char c = text_[at_];
      out_ += c;
      if (c == '\\') {
        out_ += text_[++at_];
      } else if (c == '"') {
        quoted = !quoted;
      } else if (!quoted && (c == ',' || c == ':')) {
        out_ += ' ';
      }
    }
  }

  size_t end_of_value() const {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted) {
        if (c == '\\') ++i;
        if (c == '"') quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return i;  // behind a scalar
        if (--depth == 0) return i + 1;
      } else if (depth == 0 && (c == ',' || c == ':')) {
        return i;
      }
    }
    return text_.size();
  }

  std::string_view text_;
  std::string& out_;
  size_t width_;
  size_t line_start_;
  size_t at_ = 0;
};

}  // namespace

void append_pretty(std::string_view compact, std::string& out, size_t width) {
  Printer(compact, out, width).value(0);
}

}  // namespace attnplan::json
