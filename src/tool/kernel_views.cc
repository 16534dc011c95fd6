#include "tool/kernel_views.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

namespace attnplan::tool {
namespace {

struct PlannerDeleter {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
};
struct ScratchDeleter {
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};
using PlannerHandle = std::unique_ptr<attnplan_planner, PlannerDeleter>;
using ScratchHandle = std::unique_ptr<attnplan_scratch, ScratchDeleter>;

PlannerHandle make_planner(const attnplan_config& config) {
  attnplan_planner* planner = nullptr;
  attnplan_planner_create(&config, &planner, nullptr);
  return PlannerHandle(planner);
}

ScratchHandle make_scratch() {
  attnplan_scratch* scratch = nullptr;
  attnplan_scratch_create(nullptr, &scratch, nullptr);
  return ScratchHandle(scratch);
}

// One request.
struct Probe {
  int32_t query_len;
  int32_t context_len;
  uint32_t flags;
};
constexpr Probe kDecode = {1, 1, 0};
// With the decode threshold 1: a decode, an extend, one of inexact length, a prompt.
constexpr Probe kProbes[] = {kDecode, {2, 1, 0}, {2, 1, ATTNPLAN_STEP_SEQ_LENS_INEXACT}, {1, 0, 0}};

// Reasons that another batch would not give.
constexpr uint32_t kReasonsOfBatch =
    1u << ATTNPLAN_REASON_RAGGED | 1u << ATTNPLAN_REASON_INTERIOR_PAD |
    1u << ATTNPLAN_REASON_QUERY_LENS_NOT_EXACT | 1u << ATTNPLAN_REASON_WIDTH_UNSUPPORTED |
    1u << ATTNPLAN_REASON_CONTEXT_UNSUPPORTED | 1u << ATTNPLAN_REASON_SEQ_LENS_NOT_EXACT |
    1u << ATTNPLAN_REASON_TOO_FEW_REQUESTS | 1u << ATTNPLAN_REASON_TOO_MANY_REQUESTS |
    1u << ATTNPLAN_REASON_SEQ_TOO_LONG;

// Without anything that has to do with the lengths of a step or with what a plan holds besides.
attnplan_config bare(const attnplan_config& config) {
  attnplan_config probe = config;
  probe.sections = 0;
  probe.work = ATTNPLAN_WORK_NONE;
  probe.section_layout = ATTNPLAN_SECTIONS_AUTO;
  probe.graph_full = probe.graph_piecewise = {nullptr, 0};
  probe.graph_width = probe.graph_max_num_seqs = 0;
  probe.flags = 0;
  probe.max_sections_bytes = 0;
  probe.max_model_len = probe.max_num_seqs = probe.max_num_batched_tokens = 0;
  probe.decode_threshold = 1;
  probe.ragged = ATTNPLAN_RAGGED_DEMOTE;
  probe.local_attention_chunk = 0;
  return probe;
}

// Notes what a step showed of each kernel.
void ask(const attnplan_planner* planner, attnplan_scratch* scratch, const Probe& probe,
         std::vector<KernelView>& views) {
  const int32_t seq_len = probe.context_len + probe.query_len;
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = &probe.query_len;
  step.seq_lens = &seq_len;
  step.num_computed_tokens = &probe.context_len;
  step.num_reqs = 1;
  step.flags = probe.flags;
  alignas(ATTNPLAN_PLAN_ALIGNMENT) std::array<std::byte, 4096> plan;
  std::array<attnplan_refusal, 64> refusals;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  error.refusals = refusals.data();
  error.refusals_capacity = static_cast<int32_t>(refusals.size());
  const attnplan_refusal* refused = refusals.data();
  size_t count = 0, bytes = 0;
  if (attnplan_plan_build(planner, scratch, &step, nullptr, plan.data(), plan.size(), &bytes,
                          &error) == ATTNPLAN_OK) {
    const attnplan_segment* segment = attnplan_plan_get_segments(plan.data(), bytes);
    KernelView& view = views[static_cast<size_t>(segment->kernel)];
    view.page_size = segment->page_size;
    view.label = segment->label;
    attnplan_section_view section = ATTNPLAN_SECTION_VIEW_INIT;
    attnplan_plan_get_section(plan.data(), bytes, ATTNPLAN_SECTION_REFUSALS, &section, nullptr);
    refused = static_cast<const attnplan_refusal*>(section.data);
    count = static_cast<size_t>(section.count);
  } else {
    count = static_cast<size_t>(std::min(error.num_refusals, error.refusals_capacity));
  }
  for (size_t i = 0; i < count; ++i) {
    views[static_cast<size_t>(refused[i].kernel)].reasons |= refused[i].reasons;
  }
}

void settle(std::vector<KernelView>& views) {
  for (KernelView& view : views) {
    view.reasons = view.page_size > 0 ? 0 : view.reasons & ~kReasonsOfBatch;
  }
}

// A contract that any step of one row meets, unless the cache, the heads or the device forbid it.
attnplan_contract relaxed(const attnplan_contract& contract) {
  attnplan_contract probe = contract;
  probe.route = ATTNPLAN_ROUTE_EXTEND;
  probe.flags &= ~(ATTNPLAN_CONTRACT_UNIFORM | ATTNPLAN_CONTRACT_EXACT_SEQ_LENS);
  probe.query_lens = {nullptr, 0};
  probe.max_query_len = probe.min_requests = probe.max_requests = probe.max_seq_len = 0;
  probe.context = ATTNPLAN_CONTEXT_ANY;
  return probe;
}

}  // namespace

std::vector<KernelView> kernel_views(const attnplan_config& config) {
  const PlannerHandle planner = make_planner(bare(config));
  const ScratchHandle scratch = make_scratch();
  std::vector<KernelView> views;
  if (!planner || !scratch) return views;
  for (int32_t i = 0; i < attnplan_planner_num_kernels(planner.get()); ++i) {
    views.push_back({attnplan_planner_kernel_name(planner.get(), i)});
  }
  if (config.contracts == nullptr) {
    for (const Probe& probe : kProbes) ask(planner.get(), scratch.get(), probe, views);
    settle(views);
    return views;
  }
  // A kernel behind one that takes everything would never show: each is asked alone.
  for (size_t i = 0; i < views.size(); ++i) {
    const attnplan_contract contract = relaxed(*config.contracts[i]);
    const attnplan_contract* const contracts[] = {&contract};
    attnplan_config alone = bare(config);
    alone.contracts = contracts;
    alone.num_contracts = 1;
    std::vector<KernelView> view = {{views[i].name}};
    const PlannerHandle single = make_planner(alone);
    if (single) ask(single.get(), scratch.get(), kDecode, view);
    settle(view);
    views[i] = view[0];
  }
  return views;
}

}  // namespace attnplan::tool
