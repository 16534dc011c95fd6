#include "planner/sections.h"

#include <algorithm>
#include <cstring>

namespace attnplan {
namespace {

// Where the host cannot know an element of a section that the device will write.
constexpr int32_t kDeviceFill = -1;

template <typename T>
void copy(const T* from, size_t count, std::byte* out) {
  if (count > 0) std::memcpy(out, from, count * sizeof(T));
}

uint8_t inexact_bits(const Lanes& lanes) {
  uint8_t any = 0;
  for (int32_t i = 0; lanes.inexact != nullptr && i < lanes.n; ++i) any |= lanes.inexact[i];
  return any;
}

uint8_t device_if(bool inexact) {
  return inexact ? ATTNPLAN_VALIDITY_DEVICE : ATTNPLAN_VALIDITY_EXACT;
}

bool query_inexact(const Lanes& lanes, int32_t i) {
  return lanes.inexact != nullptr && (lanes.inexact[i] & kQueryInexact) != 0;
}

// Starts of a segment's requests. Behind the first request whose rows the device splits, up to the
// last such request, only the device knows where one begins.
void write_query_start_loc(const Plan& plan, int32_t* out) {
  const Lanes& lanes = *plan.lanes;
  for (const attnplan_segment& segment : plan.parts->segments) {
    int32_t inexact_left = 0;
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      inexact_left += query_inexact(lanes, i);
    }
    const int32_t inexact_all = inexact_left;
    int32_t row = 0;
    *out++ = 0;
    for (int32_t i = segment.req_begin; i < segment.req_end; ++i) {
      row += lanes.query_lens[i];
      inexact_left -= query_inexact(lanes, i);
      const bool known = inexact_left == 0 || inexact_left == inexact_all;
      *out++ = known ? row : kDeviceFill;
    }
  }
}

void write_seq_lens(const Lanes& lanes, int32_t* out) {
  for (int32_t i = 0; i < lanes.n; ++i) {
    const bool live = lanes.query_lens[i] > 0;
    out[i] = !live                     ? 0
             : query_inexact(lanes, i) ? static_cast<int32_t>(std::min<int64_t>(
                                             int64_t{lanes.context_lens[i]} + lanes.query_bound,
                                             INT32_MAX))
                                       : lanes.seq_lens[i];
  }
}

void write_context_lens(const Lanes& lanes, int32_t* out) {
  for (int32_t i = 0; i < lanes.n; ++i) {
    const bool unknown = lanes.inexact != nullptr && (lanes.inexact[i] & kContextInexact) != 0;
    out[i] = unknown ? kDeviceFill : lanes.query_lens[i] > 0 ? lanes.context_lens[i] : 0;
  }
}

void write_row_request(const Lanes& lanes, int32_t* out) {
  for (int32_t i = 0; i < lanes.n; ++i) {
    out = std::fill_n(out, lanes.query_lens[i], query_inexact(lanes, i) ? kDeviceFill : i);
  }
}

void write_row_position(const Lanes& lanes, int32_t* out) {
  for (int32_t i = 0; i < lanes.n; ++i) {
    const bool unknown = lanes.inexact != nullptr && (lanes.inexact[i] & kInexact) != 0;
    for (int32_t row = 0; row < lanes.query_lens[i]; ++row) {
      const int64_t position = int64_t{lanes.context_lens[i]} + row;
      // A row at or past the clamp of a draft step has no place in the cache.
      const bool clamped = lanes.clamped && position >= lanes.seq_lens[i];
      *out++ = unknown || clamped ? kDeviceFill : static_cast<int32_t>(position);
    }
  }
}

int64_t query_start_loc_count(const Plan& plan) {
  int64_t count = 0;
  for (const attnplan_segment& s : plan.parts->segments) count += s.req_end - s.req_begin + 1;
  return count;
}

}  // namespace

int describe_sections(const Plan& plan, SectionSpec* specs) {
  const Lanes& lanes = *plan.lanes;
  int count = 0;
  const auto add = [&](int32_t id, uint16_t type, uint8_t extent, uint8_t validity,
                       int64_t elements, size_t element_bytes) {
    specs[count++] = {id, type, extent, validity, elements, static_cast<int32_t>(element_bytes)};
  };
  const auto add_int32 = [&](int32_t id, uint8_t extent, uint8_t validity, int64_t elements) {
    add(id, ATTNPLAN_TYPE_INT32, extent, validity, elements, sizeof(int32_t));
  };
  const auto asked = [&plan](int32_t id) { return (plan.sections >> id & 1) != 0; };
  const auto& parts = *plan.parts;
  add(ATTNPLAN_SECTION_SEGMENTS, ATTNPLAN_TYPE_SEGMENT, ATTNPLAN_EXTENT_OTHER, 0,
      static_cast<int64_t>(parts.segments.size()), sizeof(attnplan_segment));
  add(ATTNPLAN_SECTION_REFUSALS, ATTNPLAN_TYPE_REFUSAL, ATTNPLAN_EXTENT_OTHER, 0,
      static_cast<int64_t>(parts.refusals.size()), sizeof(attnplan_refusal));
  add(ATTNPLAN_SECTION_WARNINGS, ATTNPLAN_TYPE_WARNING, ATTNPLAN_EXTENT_OTHER, 0,
      static_cast<int64_t>(parts.warnings.size()), sizeof(attnplan_warning));
  if (lanes.order != nullptr) {
    add_int32(ATTNPLAN_SECTION_ORDER, ATTNPLAN_EXTENT_REQUESTS, ATTNPLAN_VALIDITY_EXACT, lanes.n);
  }
  if (plan.sections == 0) return count;
  const uint8_t bits = inexact_bits(lanes);
  const uint8_t rows_validity = device_if((bits & kQueryInexact) != 0);
  if (asked(ATTNPLAN_SECTION_QUERY_START_LOC)) {
    add_int32(ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_EXTENT_REQUESTS, rows_validity,
              query_start_loc_count(plan));
  }
  if (asked(ATTNPLAN_SECTION_SEQ_LENS)) {
    add_int32(ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_EXTENT_REQUESTS,
              bits & kSeqInexact ? ATTNPLAN_VALIDITY_BOUND : ATTNPLAN_VALIDITY_EXACT, lanes.n);
  }
  if (asked(ATTNPLAN_SECTION_CONTEXT_LENS)) {
    add_int32(ATTNPLAN_SECTION_CONTEXT_LENS, ATTNPLAN_EXTENT_REQUESTS,
              device_if((bits & kContextInexact) != 0), lanes.n);
  }
  if (asked(ATTNPLAN_SECTION_ROW_REQUEST)) {
    add_int32(ATTNPLAN_SECTION_ROW_REQUEST, ATTNPLAN_EXTENT_ROWS, rows_validity, lanes.rows);
  }
  if (asked(ATTNPLAN_SECTION_ROW_POSITION)) {
    add_int32(ATTNPLAN_SECTION_ROW_POSITION, ATTNPLAN_EXTENT_ROWS, device_if(bits != 0),
              lanes.rows);
  }
  return count;
}

void write_section(const Plan& plan, const SectionSpec& spec, std::byte* out) {
  const Lanes& lanes = *plan.lanes;
  auto* const ints = reinterpret_cast<int32_t*>(out);
  switch (spec.id) {
    case ATTNPLAN_SECTION_SEGMENTS:
      return copy(plan.parts->segments.data(), plan.parts->segments.size(), out);
    case ATTNPLAN_SECTION_REFUSALS:
      return copy(plan.parts->refusals.data(), plan.parts->refusals.size(), out);
    case ATTNPLAN_SECTION_WARNINGS:
      return copy(plan.parts->warnings.data(), plan.parts->warnings.size(), out);
    case ATTNPLAN_SECTION_ORDER:
      return copy(lanes.order, static_cast<size_t>(lanes.n), out);
    case ATTNPLAN_SECTION_QUERY_START_LOC:
      return write_query_start_loc(plan, ints);
    case ATTNPLAN_SECTION_SEQ_LENS:
      return write_seq_lens(lanes, ints);
    case ATTNPLAN_SECTION_CONTEXT_LENS:
      return write_context_lens(lanes, ints);
    case ATTNPLAN_SECTION_ROW_REQUEST:
      return write_row_request(lanes, ints);
    case ATTNPLAN_SECTION_ROW_POSITION:
      return write_row_position(lanes, ints);
  }
}

}  // namespace attnplan
