#include "attnplan/error.h"

#include <cstdarg>
#include <cstdio>

namespace attnplan {

Status Error::set(Status new_status, Code new_code, int32_t new_request, int64_t new_value,
                  int64_t new_limit, const char* format, ...) {
  status = new_status;
  code = new_code;
  request = new_request;
  value = new_value;
  limit = new_limit;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return status;
}

}  // namespace attnplan
