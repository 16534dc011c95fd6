#include "hip/plan_layer.h"

namespace attnplan::hip {
namespace {

struct Figure {
  const char* what;   // as a sentence has it behind the number
  const char* field;  // of the layer
  int64_t made_for;
  int64_t given;
};

Status differs(const Figure& f, Error* error) {
  return error->set(Status::kPlanError, Code::kNone, -1, f.given, f.made_for,
                    "plan: made for %s %lld, %s is %lld", f.what,
                    static_cast<long long>(f.made_for), f.field, static_cast<long long>(f.given));
}

Status check_model(const attnplan_plan_header& h, const attnplan_hip_attention& a, Error* error) {
  const Figure figures[] = {
      {"num_q_heads", "attention.num_q_heads", h.num_q_heads, a.num_q_heads},
      {"num_kv_heads", "attention.num_kv_heads", h.num_kv_heads, a.num_kv_heads},
      {"head_size", "attention.head_size", h.head_size, a.head_size},
      {"v_head_size", "attention.v_head_size", h.v_head_size, a.v_head_size},
      {"mask", "attention.mask", h.mask, a.mask},
      {"sliding_window", "attention.sliding_window", h.sliding_window, a.sliding_window}};
  for (const Figure& f : figures) {
    if (f.made_for != f.given) return differs(f, error);
  }
  return Status::kOk;
}

// Page ids are those of the planner's cache: in a smaller one, or one whose blocks are otherwise
// divided, they would lie outside.
Status check_cache(const attnplan_plan_header& h, const attnplan_kv_cache& cache, Error* error) {
  constexpr uint32_t kInMemory = ATTNPLAN_KV_PACKED | ATTNPLAN_KV_SHUFFLE;
  static_assert(ATTNPLAN_KV_PACKED == ATTNPLAN_PLAN_CACHE_PACKED &&
                ATTNPLAN_KV_SHUFFLE == ATTNPLAN_PLAN_CACHE_SHUFFLE &&
                ATTNPLAN_KV_TYPED == ATTNPLAN_PLAN_CACHE_TYPED);
  const Figure figures[] = {
      {"num_blocks", "kv_cache.num_blocks", h.num_blocks, cache.num_blocks},
      {"block_size", "kv_cache.block_size", h.block_size, cache.block_size},
      {"layout", "kv_cache.layout", h.layout, cache.layout},
      {"a cache with flags", "kv_cache.flags", h.cache_flags & kInMemory, cache.flags & kInMemory}};
  for (const Figure& f : figures) {
    if (f.made_for != f.given) return differs(f, error);
  }
  return Status::kOk;
}

}  // namespace

Status check_plan_layer(const HostPlan& plan, const Layer& layer, Error* error) {
  const attnplan_plan_header& h = plan.header();
  const Status status = check_model(h, layer.attention, error);
  if (status != Status::kOk || !layer.has_cache() || h.num_blocks == 0) return status;
  return check_cache(h, layer.cache, error);
}

}  // namespace attnplan::hip
