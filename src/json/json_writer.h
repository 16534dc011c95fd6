// Appends compact JSON to a string.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attnplan::json {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    fresh_ = true;
  }

  void value(std::string_view text) {
    separate();
    quote(text);
  }
  void value(const char* text) { value(std::string_view{text}); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void value(std::integral auto number) { integer(static_cast<int64_t>(number)); }
  void value(double number);  // null where it is not finite
  void null() { raw("null"); }

  template <typename Value>
  void member(std::string_view name, Value content) {
    key(name);
    value(content);
  }
  void null_member(std::string_view name) {
    key(name);
    null();
  }
  template <typename Number>
  void list(std::span<const Number> numbers) {
    begin_array();
    for (const Number number : numbers) value(number);
    end_array();
  }

 private:
  void open(char bracket) {
    separate();
    out_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    fresh_ = false;
  }
  void separate() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  void raw(std::string_view text) {
    separate();
    out_ += text;
  }
  void integer(int64_t number);
  void quote(std::string_view text);  // bytes that are no UTF-8 become U+FFFD

  std::string& out_;
  bool fresh_ = true;  // no comma before the next value
};

}  // namespace attnplan::json
