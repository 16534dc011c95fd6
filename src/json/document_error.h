// What is wrong with a document, and where documents come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace attnplan::json {

// Where the first byte of a text stands.
struct Source {
  std::string file;
  int64_t line = 1;
  int64_t column = 1;  // bytes, from 1
};

// Error code BAD_DOCUMENT.
struct DocumentError {
  std::string message;  // file:line:column: "key": what is wrong
  int64_t value = 0;    // where two counts disagree, else 0
  int64_t limit = 0;
};

// An integer that the document may hold and the planner may not: beyond int32, or an explicit zero
// where zero in the C structs means "default". Error code VALUE_OUT_OF_RANGE; session.h says in
// which order it is reported.
struct RangeFault {
  std::string message;
  int32_t request = -1;
  int64_t value = 0;
  int64_t limit = 0;
};

// A block id, or a start of a list of them, beyond int32. The C structs hold the nearest int32.
struct WideInt {
  size_t index = 0;  // among all that were read
  int64_t value = 0;
  std::string origin;  // file:line:column: "key":
};

}  // namespace attnplan::json
