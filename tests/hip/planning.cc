#include "hip/planning.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "hip/launch.h"

namespace attnplan::hip_test {
namespace {

void check(attnplan_status status, const attnplan_error& error, const char* what) {
  if (status == ATTNPLAN_OK) return;
  throw std::runtime_error(std::string(what) + ": " + error.message);
}

uint64_t sections(const Description& description) {
  uint64_t bits = 0;
  for (const int32_t id : {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS,
                           ATTNPLAN_SECTION_CONTEXT_LENS}) {
    bits |= uint64_t{1} << id;
  }
  bits |= description.page_table ? uint64_t{1} << ATTNPLAN_SECTION_PAGE_TABLE
                                 : uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDPTR |
                                       uint64_t{1} << ATTNPLAN_SECTION_PAGE_INDICES;
  return bits;
}

attnplan_config config_of(const Description& d, const attnplan_kv_cache* cache,
                          const std::string& arch) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "hip";
  config.kv_cache = cache;
  config.arch = arch.c_str();
  config.sections = sections(d);
  config.num_workers = d.num_workers;
  config.num_q_heads = d.num_q_heads();
  config.num_kv_heads = d.num_kv_heads;
  config.head_size = d.head_size;
  config.v_head_size = d.v_head_size;
  config.decode_threshold = 8;
  config.mask = d.mask;
  config.features =
      (d.soft_cap > 0 ? ATTNPLAN_FEATURE_SOFT_CAP : 0) | (d.lse ? ATTNPLAN_FEATURE_LSE : 0);
  config.sliding_window = d.sliding_window;
  config.work = d.work;
  config.work_fixed_tokens = d.work == ATTNPLAN_WORK_FIXED ? d.work_fixed_tokens : 0;
  return config;
}

// One graph, and limits that every step of it keeps.
void add_graph(const Description& d, const Step& step, attnplan_config* config) {
  if (step.graph_rows == 0) return;
  (d.piecewise ? config->graph_piecewise : config->graph_full) = {&step.graph_rows, 1};
  config->section_layout = d.compact ? ATTNPLAN_SECTIONS_COMPACT : ATTNPLAN_SECTIONS_FIXED;
  config->max_model_len = step.columns * step.block_size;
  config->max_num_seqs = step.graph_rows + 8;
  config->max_num_batched_tokens = step.graph_rows + 8;
  if (d.full_width) config->graph_width = step.query_lens[0];
}

// The kernels' contracts, as a kernel would have them that waits for rows of the whole width.
std::vector<attnplan_contract> full_width(const std::vector<const attnplan_contract*>& contracts) {
  std::vector<attnplan_contract> copies;
  for (const attnplan_contract* contract : contracts) {
    copies.push_back(*contract);
    copies.back().pads = 1;
    copies.back().graph = 1;  // uniform
  }
  return copies;
}

struct PlannerDeleter {
  void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
};
struct ScratchDeleter {
  void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
};

}  // namespace

attnplan_kv_cache cache_of(const Description& d, const Step& step) {
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  cache.layout = d.layout;
  cache.flags = (d.packed ? ATTNPLAN_KV_PACKED : 0) | (d.shuffle ? ATTNPLAN_KV_SHUFFLE : 0);
  cache.num_blocks = step.num_blocks;
  cache.block_size = d.block_size;
  cache.page_size = d.page_size;
  if (bytes_of(d.cache) == 2) {
    cache.cache_dtype = d.cache == Format::kBf16 ? ATTNPLAN_CACHE_BF16 : ATTNPLAN_CACHE_FP16;
  } else {  // whatever the architecture calls fp8
    cache.cache_dtype = ATTNPLAN_CACHE_FP8_INC;
    cache.storage_dtype = dtype_of(d.cache);
  }
  cache.scale = d.scales == Scales::kNone     ? ATTNPLAN_SCALE_NONE
                : d.scales == Scales::kTensor ? ATTNPLAN_SCALE_TENSOR
                                              : ATTNPLAN_SCALE_TOKEN_HEAD;
  if (d.block_stride_pad > 0) {
    const int64_t longest = d.head_size > d.v_head_size ? d.head_size : d.v_head_size;
    cache.block_stride =
        (d.packed ? 2 : 1) * d.block_size * d.num_kv_heads * longest + d.block_stride_pad;
  }
  return cache;
}

void Plan::Free::operator()(void* memory) const { std::free(memory); }

Plan::Plan(const Description& d, const Step& step, Kernels kernels) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const attnplan_kv_cache cache = cache_of(d, step);
  const std::string arch = device_arch();
  attnplan_config config = config_of(d, &cache, arch);
  add_graph(d, step, &config);
  std::vector<const attnplan_contract*> contracts = contracts_of(d, step, kernels);
  const std::vector<attnplan_contract> copies = full_width(contracts);
  for (size_t i = 0; d.full_width && i < copies.size(); ++i) contracts[i] = &copies[i];
  config.contracts = contracts.data();
  config.num_contracts = contracts.size();
  attnplan_planner* made = nullptr;
  check(attnplan_planner_create(&config, &made, &error), error, "planner");
  const std::unique_ptr<attnplan_planner, PlannerDeleter> planner(made);
  attnplan_scratch* scratch_made = nullptr;
  check(attnplan_scratch_create(nullptr, &scratch_made, &error), error, "scratch");
  const std::unique_ptr<attnplan_scratch, ScratchDeleter> scratch(scratch_made);

  attnplan_step lengths = ATTNPLAN_STEP_INIT;
  constexpr int32_t kNone = 0;  // for a batch without requests
  lengths.query_lens = step.requests() > 0 ? step.query_lens.data() : &kNone;
  lengths.seq_lens = step.requests() > 0 ? step.seq_lens.data() : &kNone;
  lengths.num_reqs = step.requests();
  lengths.phase = step.phase;
  lengths.flags = (step.exact ? 0 : ATTNPLAN_STEP_SEQ_LENS_INEXACT) |
                  (step.exact_rows ? 0 : ATTNPLAN_STEP_QUERY_LENS_INEXACT);
  if (step.rows() == 0) lengths.num_tokens_padded = step.graph_rows;
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = step.block_ids.empty() ? &kNone : step.block_ids.data();
  group.columns = step.columns;
  size_t room = 0;
  check(attnplan_plan_size(planner.get(), scratch.get(), &lengths, &group, &room, &error), error,
        "size of a plan");
  blob_.reset(std::aligned_alloc(64, (room + 63) / 64 * 64));
  check(attnplan_plan_build(planner.get(), scratch.get(), &lengths, &group, blob_.get(), room,
                            &bytes_, &error),
        error, "plan");
}

int64_t Plan::rows() const {
  const attnplan_plan_header& header = *attnplan_plan_get_header(data(), bytes_);
  return header.graph_kind == ATTNPLAN_GRAPH_FULL ? std::max(header.num_rows, header.graph_rows)
                                                  : header.num_rows;
}

attnplan_section_view Plan::section(int32_t id) const {
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  (void)attnplan_plan_get_section(data(), bytes_, id, &view, nullptr);
  return view;
}

}  // namespace attnplan::hip_test
