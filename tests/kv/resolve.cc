#include "resolve.h"

#include <cstdlib>
#include <utility>

namespace attnplan::kv_test {
namespace {

struct DestroyScratch {
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};
struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};

Argument read_argument(const void* plan, size_t bytes) {
  Argument out;
  const attnplan_segment* segment = attnplan_plan_get_segments(plan, bytes);
  if (segment == nullptr) return out;
  out.kernel = segment->kernel;
  out.page_size = segment->page_size;
  out.label = segment->label;
  attnplan_section_view refusals = ATTNPLAN_SECTION_VIEW_INIT;
  attnplan_plan_get_section(plan, bytes, ATTNPLAN_SECTION_REFUSALS, &refusals, nullptr);
  const auto* all = static_cast<const attnplan_refusal*>(refusals.data);
  for (int32_t i = segment->refusal_begin; i < segment->refusal_end; ++i) {
    if (all[i].kernel == 0) out.refused = all[i].reasons;
  }
  return out;
}

}  // namespace

attnplan_kv_cache make_cache(int32_t num_blocks, int32_t block_size, int32_t page_size) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.num_blocks = num_blocks;
  cache.block_size = block_size;
  cache.page_size = page_size;
  return cache;
}

attnplan_contract make_kernel(const char* name, attnplan_route route) {
  attnplan_contract kernel = ATTNPLAN_CONTRACT_INIT;
  kernel.name = name;
  kernel.route = route;
  return kernel;
}

Planner bind(const attnplan_kv_cache& cache, const Model& model,
             const std::vector<attnplan_contract>& kernels, Resolved* resolved) {
  const attnplan_contract any = make_kernel("any", ATTNPLAN_ROUTE_EXTEND);
  std::vector<const attnplan_contract*> pointers;
  for (const attnplan_contract& kernel : kernels) pointers.push_back(&kernel);
  if (pointers.empty()) pointers.push_back(&any);

  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "test";
  config.contracts = pointers.data();
  config.num_contracts = pointers.size();
  config.kv_cache = &cache;
  config.arch = model.arch.c_str();
  config.num_q_heads = model.num_q_heads;
  config.num_kv_heads = model.num_kv_heads;
  config.head_size = model.head_size;
  config.v_head_size = model.v_head_size;

  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_planner* planner = nullptr;
  resolved->status = attnplan_planner_create(&config, &planner, &error);
  if (resolved->status == ATTNPLAN_OK) {
    resolved->status = attnplan_planner_kv_view(planner, &resolved->view, &error);
  }
  resolved->code = error.code;
  resolved->value = error.value;
  resolved->limit = error.limit;
  return Planner(planner);
}

Resolved resolve(const attnplan_kv_cache& cache, const Model& model) {
  Resolved resolved;
  bind(cache, model, {}, &resolved);
  return resolved;
}

Argument argument_of(const attnplan_kv_cache& cache, const Model& model,
                     std::vector<attnplan_contract> kernels) {
  kernels.push_back(make_kernel("any", ATTNPLAN_ROUTE_EXTEND));
  Resolved resolved;
  const Planner planner = bind(cache, model, kernels, &resolved);
  if (!planner) return {};

  attnplan_scratch* raw_scratch = nullptr;
  if (attnplan_scratch_create(nullptr, &raw_scratch, nullptr) != ATTNPLAN_OK) return {};
  const std::unique_ptr<attnplan_scratch, DestroyScratch> scratch(raw_scratch);
  const int32_t query_len = 1, seq_len = 5;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = &query_len;
  step.seq_lens = &seq_len;
  step.num_reqs = 1;

  size_t bytes = 0;
  attnplan_plan_size(planner.get(), scratch.get(), &step, nullptr, &bytes, nullptr);
  const size_t rounded = (bytes + ATTNPLAN_PLAN_ALIGNMENT) & ~size_t{ATTNPLAN_PLAN_ALIGNMENT - 1};
  const std::unique_ptr<void, Free> plan(std::aligned_alloc(ATTNPLAN_PLAN_ALIGNMENT, rounded));
  const attnplan_status status = attnplan_plan_build(planner.get(), scratch.get(), &step, nullptr,
                                                     plan.get(), rounded, &bytes, nullptr);
  return status == ATTNPLAN_OK ? read_argument(plan.get(), bytes) : Argument{};
}

}  // namespace attnplan::kv_test
