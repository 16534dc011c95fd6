// Errors as the C ABI has them.
#pragma once

#include "attnplan/error.h"
#include "attnplan_types.h"

namespace attnplan {

// Into as much of *to as its struct_size says; NULL is fine. The caller's lists are left alone.
void fill_error(const Error& from, attnplan_error* to);

}  // namespace attnplan
