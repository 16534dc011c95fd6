// A cache description, resolved by the library into the views that an engine binds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attnplan.h"

namespace attnplan::kv_test {

struct Model {
  int32_t num_q_heads = 16;
  int32_t num_kv_heads = 1;
  int32_t head_size = 128;
  int32_t v_head_size = 0;  // 0: head_size
  std::string arch = "gfx950";
};

struct DestroyPlanner {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
};
using Planner = std::unique_ptr<attnplan_planner, DestroyPlanner>;

struct Resolved {
  attnplan_status status = ATTNPLAN_OK;
  attnplan_code code = ATTNPLAN_CODE_NONE;
  int64_t value = 0;  // of the error, likewise limit
  int64_t limit = 0;
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
};

// A token-major cache of `num_blocks` blocks.
attnplan_kv_cache make_cache(int32_t num_blocks, int32_t block_size, int32_t page_size = 0);

// Binds the cache to a planner with `kernels`, or with one kernel that takes anything where there
// are none. Null, with the error in *resolved, where the library refuses the cache.
Planner bind(const attnplan_kv_cache& cache, const Model& model,
             const std::vector<attnplan_contract>& kernels, Resolved* resolved);

Resolved resolve(const attnplan_kv_cache& cache, const Model& model = {});

// What the segment of a batch of one request (1 row, 5 tokens) says of its kernel's cache argument.
struct Argument {
  int32_t kernel = -1;
  int32_t page_size = 0;
  attnplan_dtype label = ATTNPLAN_DTYPE_NONE;
  uint32_t refused = 0;  // reasons for which kernel 0 was passed over
};

// A decode batch of one request through `kernels` and, behind them, a kernel that takes anything.
Argument argument_of(const attnplan_kv_cache& cache, const Model& model,
                     std::vector<attnplan_contract> kernels);

attnplan_contract make_kernel(const char* name, attnplan_route route);

}  // namespace attnplan::kv_test
