// A contract resolved against a KV group: what can be judged once is judged at creation.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "attnplan/planner.h"
#include "planner/lanes.h"

namespace attnplan {

struct Kernel {
  Route route = Route::kDecode;
  uint32_t static_refusals = 0;  // reasons that hold for every batch; nonzero: never admits
  bool uniform = false;
  bool exact_seq_lens = false;
  bool any_query_len = true;
  Context context = Context::kAny;
  Capture capture = Capture::kNever;
  Pads pads = Pads::kEmpty;
  int32_t max_query_len = INT32_MAX;           // rows
  int32_t max_query_len_by_group = INT32_MAX;  // rows; from max_query_len_x_group
  int32_t min_requests = 0;
  int32_t max_requests = INT32_MAX;
  int32_t max_seq_len = INT32_MAX;
  int32_t query_tile = 64;               // packed rows (rows x group)
  int32_t kv_tile = 128;                 // tokens
  int32_t num_splits = 0;                // fixed; 0: none
  int32_t page_size = 0;                 // tokens; 0 without a cache
  Dtype label = Dtype::kNone;            // what its cache argument must carry
  std::pmr::vector<int32_t> query_lens;  // ascending, where not any_query_len

  bool admits_width(int32_t query_len) const;
};

// `view` is null without a cache.
Kernel resolve_kernel(const Contract& contract, const Config& config, const KvView* view,
                      std::pmr::memory_resource* memory);

// Reasons (bits) why `kernel` may not have the live requests of `range`, whose figures are `facts`.
uint32_t refusals(const Kernel& kernel, const Facts& facts, const Lanes& lanes, Range range);

// True where the request at `position` does not break the kernel's contract. Covers all that
// depends on one request alone; uniformity, pads between, request counts and whether its length is
// exact are left out.
bool admits_request(const Kernel& kernel, const Lanes& lanes, int32_t position);

}  // namespace attnplan
