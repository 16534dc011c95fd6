// The one place where exceptions end: nothing is thrown across the C ABI.
#pragma once

#include <new>

#include "attnplan/error.h"

namespace attnplan {

// Runs `body`, which fills *error and returns a status.
template <typename Body>
Status guard(Error* error, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return error->set(Status::kOutOfMemory, Code::kNone, -1, 0, 0, "out of memory");
  } catch (...) {
    return error->set(Status::kInternal, Code::kNone, -1, 0, 0, "unexpected exception");
  }
}

}  // namespace attnplan
