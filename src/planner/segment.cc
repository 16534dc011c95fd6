#include "planner/segment.h"

#include <algorithm>

#include "planner/measure.h"

namespace attnplan {

Parts segment(const Lanes& lanes, const ScanResult& scan) {
  Parts parts;
  const int32_t begin = scan.first_live, end = scan.last_live + 1;
  if (begin >= end) return parts;
  if (scan.first_prompt >= end) {
    parts.decode = {begin, end};
    return parts;
  }
  parts.decode = trim(lanes, {begin, std::min(scan.first_prompt, end)});
  const int32_t decode_end = parts.decode.empty() ? begin : parts.decode.end;
  parts.prefill = trim(lanes, {std::max(scan.last_unprompt + 1, decode_end), end});
  const int32_t extend_end = parts.prefill.empty() ? end : parts.prefill.begin;
  parts.extend = trim(lanes, {decode_end, extend_end});
  return parts;
}

}  // namespace attnplan
