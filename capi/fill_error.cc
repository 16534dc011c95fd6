// Errors as the C ABI has them. Shared by both libraries.
#include "fill_error.h"

#include <cstring>

#include "versioned.h"

namespace attnplan {

void fill_error(const Error& from, attnplan_error* to) {
  if (to == nullptr) return;
  attnplan_error copy;
  const attnplan_error* given;
  if (read_versioned(to, &copy, &given) == SizeCheck::kTooShort) return;
  attnplan_error error = *given;  // keeps the caller's lists
  error.status = static_cast<attnplan_status>(from.status);
  error.code = static_cast<attnplan_code>(from.code);
  error.request = from.request;
  error.value = from.value;
  error.limit = from.limit;
  error.num_refusals = 0;
  error.num_requests = 0;
  std::memcpy(error.message, from.message, sizeof error.message);
  write_versioned(error, to);
}

}  // namespace attnplan
