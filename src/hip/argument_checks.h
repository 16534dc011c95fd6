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

// A stride of rows or heads of 16-bit elements: 0 is `dense`, and no smaller than `least`.
inline Status read_stride(Error* error, const char* what, int64_t given, int64_t dense,
                          int64_t least, int64_t* stride) {
  *stride = given != 0 ? given : dense;
  if (*stride < least) return invalid(error, what, given, least, "rows would overlap");
  if (*stride % 8 != 0) return invalid(error, what, given, 8, "it has to be a multiple of 8");
  return Status::kOk;
}

}  // namespace attnplan::hip
