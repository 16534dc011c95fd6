// The growth rule of the C ABI's structs: struct_size comes first and fields are only appended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "attnplan/error.h"

namespace attnplan {

enum class SizeCheck { kOk, kTooShort, kUnknownTail };

// Presents `given` as this version's struct: as it is where the sizes agree, else through `copy` with
// a zero tail. Bytes behind this version's end must be zero: a newer request is refused, never
// dropped.
template <typename T>
SizeCheck read_versioned(const T* given, T* copy, const T** result) {
  const size_t size = given->struct_size;
  *result = given;
  if (size == sizeof(T)) return SizeCheck::kOk;
  if (size < sizeof(size_t)) return SizeCheck::kTooShort;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(T)) {
    const bool zero = std::all_of(bytes + sizeof(T), bytes + size,
                                  [](unsigned char byte) { return byte == 0; });
    return zero ? SizeCheck::kOk : SizeCheck::kUnknownTail;
  }
  std::memset(copy, 0, sizeof(T));
  std::memcpy(copy, bytes, size);
  *result = copy;
  return SizeCheck::kOk;
}

inline Status unknown_value(Error* error, const char* what, int64_t value) {
  return error->set(Status::kUnimplemented, Code::kNone, -1, value, 0,
                    "%s %lld is not known to this version", what, static_cast<long long>(value));
}

// As read_versioned, with the error for a caller.
template <typename T>
Status read_struct(const T* given, T* copy, const T** result, const char* what, Error* error) {
  if (given == nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "%s is NULL", what);
  }
  switch (read_versioned(given, copy, result)) {
    case SizeCheck::kOk:
      return Status::kOk;
    case SizeCheck::kTooShort:
      return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                        "%s has no struct_size: start from its _INIT macro", what);
    case SizeCheck::kUnknownTail:
      break;
  }
  return error->set(Status::kUnimplemented, Code::kNone, -1,
                    static_cast<int64_t>(given->struct_size), sizeof(T),
                    "%s is newer than this version and uses fields that it does not know", what);
}

// Writes an output struct: no more than the caller has room for, struct_size left as it was.
template <typename T>
void write_versioned(const T& value, T* out) {
  const size_t size = out->struct_size;
  if (size <= sizeof(size_t)) return;
  std::memcpy(reinterpret_cast<unsigned char*>(out) + sizeof(size_t),
              reinterpret_cast<const unsigned char*>(&value) + sizeof(size_t),
              std::min(size, sizeof(T)) - sizeof(size_t));
}

template <typename T>
Status write_struct(const T& value, T* out, const char* what, Error* error) {
  T copy;
  const T* given;
  const Status status = read_struct<T>(out, &copy, &given, what, error);
  if (status == Status::kOk) write_versioned(value, out);
  return status;
}

}  // namespace attnplan
