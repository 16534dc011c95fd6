// A second planner, written from the planning page alone as simple code over vectors: slow where
// that makes it plainer. It shares nothing with the library but the C header, so that a difference
// between the two is a fault of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnplan.h"

namespace attnplan::oracle {

struct NaiveRefusal {
  int32_t kernel = 0;    // index in the profile
  uint32_t reasons = 0;  // bit r for every attnplan_reason r

  bool operator==(const NaiveRefusal&) const = default;
};

struct NaiveError {
  attnplan_status status = ATTNPLAN_PLAN_ERROR;
  attnplan_code code = ATTNPLAN_CODE_NONE;
  bool of_setup = false;  // no planner can be made of the configuration
  int64_t request = -1;   // of the step
  int64_t value = 0;
  int64_t limit = 0;
  std::vector<NaiveRefusal> refusals;  // by kernel
  std::vector<int32_t> requests;       // of the step, ascending
};

// Request indices are plan positions; figures as in attnplan_segment.
struct NaiveSegment {
  attnplan_route route = ATTNPLAN_ROUTE_PAD;
  int32_t kernel = 0;
  int64_t req_begin = 0, req_end = 0;
  int64_t row_begin = 0, row_end = 0;
  int64_t width = 0;
  int64_t max_query_len = 0, min_query_len = 0;
  int64_t max_seq_len = 0, min_seq_len = 0, sum_seq_lens = 0;
  int64_t max_context_len = 0, min_context_len = 0, sum_context_lens = 0;
  int64_t num_live = 0;
  int64_t page_size = 0;
  attnplan_dtype label = ATTNPLAN_DTYPE_NONE;
  bool exact_query_lens = true, exact_seq_lens = true;
  std::vector<NaiveRefusal> refusals;  // by kernel
};

struct NaiveWarning {
  attnplan_code code = ATTNPLAN_CODE_NONE;
  int64_t request = 0;  // of the step
  int64_t value = 0;
  int64_t limit = 0;
};

struct NaiveSection {
  std::vector<int64_t> values;  // not to be relied on where validity is device
  int32_t validity = ATTNPLAN_VALIDITY_EXACT;
};

struct NaiveSections {
  std::vector<std::vector<int64_t>> query_start_loc;  // one list a segment
  int32_t query_start_loc_validity = ATTNPLAN_VALIDITY_EXACT;
  NaiveSection seq_lens, context_lens, row_request, row_position;
};

struct NaiveRouteCount {
  int64_t requests = 0;
  int64_t rows = 0;
  int64_t max_query_len = 0;
};

struct NaivePlan {
  std::optional<NaiveError> error;  // with an error nothing else is meant
  std::vector<std::string> kernels;
  std::vector<attnplan_route> routes;  // by request of the step
  std::vector<int32_t> order;          // plan position -> request of the step
  std::vector<NaiveSegment> segments;
  NaiveRouteCount decode, extend, prefill;
  int64_t num_pads = 0;
  int64_t num_rows = 0;
  attnplan_ragged_policy ragged_policy = ATTNPLAN_RAGGED_DEFAULT;
  int64_t decode_req_begin = 0, decode_req_end = 0;  // D; equal where it is empty
  int64_t query_len_bound = 0;
  std::vector<NaiveWarning> warnings;
  NaiveSections sections;
  std::optional<attnplan_kv_view> kv_view;
};

// `group` may be null. Structs must have this header's size.
NaivePlan naive_plan(const attnplan_config& config, const attnplan_step& step,
                     const attnplan_group* group);

}  // namespace attnplan::oracle
