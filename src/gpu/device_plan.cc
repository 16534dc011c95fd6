#include "gpu/device_plan.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace attnplan::gpu {
namespace {

constexpr int64_t kMostPadRows = 1 << 14;  // of a graph, as on the CPU

constexpr uint64_t bit(int32_t section) { return uint64_t{1} << section; }
constexpr uint64_t kSections = bit(ATTNPLAN_SECTION_QUERY_START_LOC) |
                               bit(ATTNPLAN_SECTION_SEQ_LENS) | bit(ATTNPLAN_SECTION_CONTEXT_LENS) |
                               bit(ATTNPLAN_SECTION_PAGE_INDPTR) |
                               bit(ATTNPLAN_SECTION_PAGE_INDICES);
constexpr uint64_t kSparseSections =
    kSections | bit(ATTNPLAN_SECTION_ROW_REQUEST) | bit(ATTNPLAN_SECTION_ROW_POSITION);

void check(attnplan_status status, const attnplan_error& error) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(error.message);
}

struct PlannerDeleter {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
};
struct ScratchDeleter {
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};

attnplan_config config_for(const Device& device, const attnplan_config& given,
                           const attnplan_kv_cache* cache, const cpu::AttentionShape& shape,
                           bool sparse) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = sparse ? "hip_m3" : "hip";
  config.kv_cache = cache;
  config.arch = device.info.arch;
  config.sections = sparse ? kSparseSections : kSections;
  config.num_workers = device.info.num_workers;
  config.num_q_heads = shape.num_q_heads;
  config.num_kv_heads = shape.num_kv_heads;
  config.head_size = shape.head_size;
  config.v_head_size = shape.v_head_size;
  config.decode_threshold = given.decode_threshold;
  config.mask = given.mask;
  config.features = given.features | ATTNPLAN_FEATURE_LSE;
  config.sliding_window = given.sliding_window;
  config.flags = given.flags & ATTNPLAN_CONFIG_SHORT_EXTEND_DECODE;
  config.graph_full = given.graph_full;
  config.graph_piecewise = given.graph_piecewise;
  config.graph_width = given.graph_width;
  config.graph_max_num_seqs = given.graph_max_num_seqs;
  config.section_layout = ATTNPLAN_SECTIONS_COMPACT;  // it runs once
  config.order = given.order;
  config.ragged = given.ragged;
  config.max_segments = given.max_segments;
  config.work = given.work == ATTNPLAN_WORK_NONE ? ATTNPLAN_WORK_AUTO : given.work;
  config.work_fixed_tokens = given.work_fixed_tokens;
  return config;
}

}  // namespace

DevicePlan::DevicePlan(const Device& device, const attnplan_config& config,
                       const attnplan_step& step, const cpu::Lengths& lengths,
                       const cpu::AttentionShape& shape, const cpu::BlockTable& table,
                       int32_t top_k)
    : arch_(device.info.arch) {
  describe(config, shape, table, top_k);
  attnplan_config own = config_for(device, config, &cache_, shape, top_k > 0);
  size_t count = 0;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(device.library.contracts(&attention_, &own.contracts, &count, &error), error);
  own.num_contracts = count;
  build(own, step, lengths, table);
}

DevicePlan::~DevicePlan() { std::free(plan_); }

void DevicePlan::describe(const attnplan_config& config, const cpu::AttentionShape& shape,
                          const cpu::BlockTable& table, int32_t top_k) {
  if (config.kv_cache != nullptr) cache_ = *config.kv_cache;
  cache_.block_size = table.block_size;
  cache_.num_blocks = static_cast<int32_t>(table.num_blocks);
  // Kernels would choose the same; the cache is filled page by page before that is known.
  for (const int32_t page : {128, 64, 32, 16}) {
    if (cache_.page_size == 0 && cache_.block_size % page == 0) cache_.page_size = page;
  }
  attention_.kv_cache = &cache_;
  attention_.arch = arch_.c_str();
  attention_.num_q_heads = shape.num_q_heads;
  attention_.num_kv_heads = shape.num_kv_heads;
  attention_.head_size = shape.head_size;
  attention_.v_head_size = shape.v_head_size;
  attention_.mask = shape.mask;
  attention_.sliding_window = shape.sliding_window;
  attention_.top_k = top_k;
  attention_.q_dtype =
      cache_.cache_dtype == ATTNPLAN_CACHE_FP16 ? ATTNPLAN_DTYPE_FP16 : ATTNPLAN_DTYPE_BF16;
}

void DevicePlan::build(const attnplan_config& config, const attnplan_step& step,
                       const cpu::Lengths& lengths, const cpu::BlockTable& table) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_planner* made = nullptr;
  check(attnplan_planner_create(&config, &made, &error), error);
  const std::unique_ptr<attnplan_planner, PlannerDeleter> planner(made);
  attnplan_kv_view view = ATTNPLAN_KV_VIEW_INIT;
  check(attnplan_planner_kv_view(planner.get(), &view, &error), error);
  view_ = view.view_dtype;
  attnplan_scratch* scratch_made = nullptr;
  check(attnplan_scratch_create(nullptr, &scratch_made, &error), error);
  const std::unique_ptr<attnplan_scratch, ScratchDeleter> scratch(scratch_made);

  attnplan_step own = ATTNPLAN_STEP_INIT;
  own.query_lens = lengths.query_lens.data();
  own.seq_lens = lengths.seq_lens.data();
  own.num_prompt_tokens = step.num_prompt_tokens;
  own.is_prefilling = step.is_prefilling;
  own.num_reqs = lengths.size();
  own.phase = step.phase;
  own.num_tokens_padded = step.num_tokens_padded;
  own.graph_allow = step.graph_allow;
  const std::vector<int32_t> begin(table.begin.begin(), table.begin.end());
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  constexpr int32_t kNoBlocks = 0;
  group.block_ids = table.ids.empty() ? &kNoBlocks : table.ids.data();
  group.block_indptr = begin.data();
  size_t room = 0;
  check(attnplan_plan_size(planner.get(), scratch.get(), &own, &group, &room, &error), error);
  plan_ = std::aligned_alloc(ATTNPLAN_PLAN_ALIGNMENT,
                             (room / ATTNPLAN_PLAN_ALIGNMENT + 1) * ATTNPLAN_PLAN_ALIGNMENT);
  if (plan_ == nullptr) throw std::runtime_error("out of memory");
  check(
      attnplan_plan_build(planner.get(), scratch.get(), &own, &group, plan_, room, &bytes_, &error),
      error);
  if (rows() - lengths.rows() > kMostPadRows) throw std::runtime_error("a graph beyond all sizes");
}

int64_t DevicePlan::rows() const {
  const attnplan_plan_header& header = *attnplan_plan_get_header(plan_, bytes_);
  const bool full = header.graph_kind == ATTNPLAN_GRAPH_FULL;
  return std::max(header.num_rows, full ? header.graph_rows : 0);
}

}  // namespace attnplan::gpu
