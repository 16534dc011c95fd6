// Checks that every call makes of pointers and strides. Messages name the argument.
#pragma once

#include <cstdint>

#include "attnplan/error.h"

namespace attnplan::hip {

inline Status invalid(Error* error, const char* what, int64_t value, int64_t limit,
                      const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, value, limit, "%s is %lld, %s", what,
                    static_cast<long long>(value), why);
}

inline Status check_pointer(Error* error, const char* what, const void* pointer,
                            uintptr_t alignment) {
  if (pointer == nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s is NULL", what);
  }
  if (reinterpret_cast<uintptr_t>(pointer) % alignment == 0) return Status::kOk;
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, static_cast<int64_t>(alignment),
                    "%s is not %d-byte aligned", what, static_cast<int>(alignment));
}

inline Status check_negative(Error* error, const char* what, int64_t value) {
  return value < 0 ? invalid(error, what, value, 0, "it cannot be negative") : Status::kOk;
}
// NULL is allowed.
inline Status check_alignment(Error* error, const char* what, const void* pointer,
                              uintptr_t alignment) {
  return pointer == nullptr ? Status::kOk : check_pointer(error, what, pointer, alignment);
}

// Rows of `heads` heads: head by head in a row, or, with the larger stride, row by row in a head.
inline Status check_overlap(Error* error, const char* what, int64_t row_stride, int64_t head_stride,
                            int64_t heads, int64_t head_size) {
  const int64_t least = head_stride <= row_stride ? (heads - 1) * head_stride + head_size : 0;
  return row_stride < least ? invalid(error, what, row_stride, least, "rows would overlap")
                            : Status::kOk;
}

// A stride of rows or heads of 16-bit elements: 0 is `dense`, and no smaller than `least`.
inline Status read_stride(Error* error, const char* what, int64_t given, int64_t dense,
                          int64_t least, int64_t* stride) {
  *stride = given != 0 ? given : dense;
  if (*stride < least) return invalid(error, what, given, least, "rows would overlap");
  if (*stride % 8 != 0) return invalid(error, what, given, 8, "it has to be a multiple of 8");
  return Status::kOk;
}

// Of `selected`: 0 is dense.
inline Status read_selected_stride(Error* error, int64_t given, int64_t rows, int64_t top_k,
                                   int64_t* stride) {
  *stride = given != 0 ? given : rows * top_k;
  return *stride < rows * top_k
             ? invalid(error, "selected_head_stride", given, rows * top_k, "heads would overlap")
             : Status::kOk;
}

}  // namespace attnplan::hip
