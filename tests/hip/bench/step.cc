#include "bench/step.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "attnplan/plan.h"

namespace attnplan::hip::bench {
namespace {

constexpr uint64_t bit(int32_t section) { return uint64_t{1} << section; }
constexpr uint64_t kSections =
    bit(ATTNPLAN_SECTION_QUERY_START_LOC) | bit(ATTNPLAN_SECTION_SEQ_LENS) |
    bit(ATTNPLAN_SECTION_CONTEXT_LENS) | bit(ATTNPLAN_SECTION_ROW_REQUEST) |
    bit(ATTNPLAN_SECTION_ROW_POSITION) | bit(ATTNPLAN_SECTION_PAGE_INDPTR) |
    bit(ATTNPLAN_SECTION_PAGE_INDICES);

}  // namespace

void check(attnplan_status status, const attnplan_error& error, const char* what) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(std::string(what) + ": " + error.message);
}

PlannedStep::PlannedStep(Gpu& gpu, const Workload& workload, const Choices& choices,
                         const attnplan_hip_device_info& device)
    : arch_(device.arch) {
  describe_layer(workload, choices, device);
  scatter_pages(workload);
  build(gpu, workload);
}

PlannedStep::~PlannedStep() {
  attnplan_planner_destroy(planner_);
  attnplan_scratch_destroy(scratch_);
}

void PlannedStep::describe_layer(const Workload& workload, const Choices& choices,
                                 const attnplan_hip_device_info& device) {
  const bool sparse = workload.kind != Kind::kAttention;
  const int32_t page_size = sparse ? kBlockTokens : choices.page_size;
  pages_ = (workload.context + page_size - 1) / page_size;
  cache_.layout = ATTNPLAN_LAYOUT_LBNHC;
  cache_.block_size = cache_.page_size = page_size;
  cache_.num_blocks = workload.requests * pages_;
  if (choices.fp8) {  // e4m3fn whatever the device: the bytes are ours
    cache_.cache_dtype = ATTNPLAN_CACHE_FP8;
  }
  attention_.kv_cache = &cache_;
  attention_.arch = arch_.c_str();
  attention_.q_dtype = ATTNPLAN_DTYPE_BF16;
  attention_.num_q_heads = workload.q_heads;
  attention_.num_kv_heads = workload.kv_heads;
  attention_.head_size = kHeadSize;
  attention_.top_k = sparse ? kTopK : 0;

  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_hip_contracts(&attention_, &config_.contracts, &config_.num_contracts, &error),
        error, "contracts");
  config_.profile = "hip";
  config_.kv_cache = &cache_;
  config_.arch = arch_.c_str();
  config_.sections = kSections;
  config_.num_q_heads = workload.q_heads;
  config_.num_kv_heads = workload.kv_heads;
  config_.decode_threshold = 4;
  config_.num_workers = device.num_workers;
  config_.work = choices.work;
}

void PlannedStep::scatter_pages(const Workload& workload) {
  block_ids_.resize(static_cast<size_t>(workload.requests) * pages_);
  std::iota(block_ids_.begin(), block_ids_.end(), 0);
  std::shuffle(block_ids_.begin(), block_ids_.end(), std::mt19937(1));
}

void PlannedStep::build(Gpu& gpu, const Workload& workload) {
  const std::vector<int32_t> query_lens(workload.requests, workload.rows);
  const std::vector<int32_t> seq_lens(workload.requests, workload.context);
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = query_lens.data();
  step.seq_lens = seq_lens.data();
  step.num_reqs = workload.requests;
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = block_ids_.data();
  group.columns = pages_;

  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_planner_create(&config_, &planner_, &error), error, "planner");
  check(attnplan_scratch_create(nullptr, &scratch_, &error), error, "scratch");
  size_t bytes = 0;
  check(attnplan_plan_size(planner_, scratch_, &step, &group, &bytes, &error), error, "plan size");
  host_.resize(bytes / 8 + 16);
  const auto address = (reinterpret_cast<uintptr_t>(host_.data()) + 63) / 64 * 64;
  void* const blob = reinterpret_cast<void*>(address);
  check(attnplan_plan_build(planner_, scratch_, &step, &group, blob, bytes, &bytes, &error), error,
        "plan");
  device_ = std::make_unique<Buffer>(bytes);
  gpu.copy_in(*device_, blob, bytes);
  plan_.host = blob;
  plan_.device = device_->as();
  plan_.bytes = bytes;
}

std::string PlannedStep::policy() const {
  PlanView view;
  if (!PlanView::open(plan_.host, plan_.bytes, &view)) return "?";
  const auto work = view.values<attnplan_work>(ATTNPLAN_SECTION_WORK);
  if (work.empty()) return "none";
  switch (work[0].policy) {
    case ATTNPLAN_WORK_LIST_STREAM_K:
      return "stream_k";
    case ATTNPLAN_WORK_LIST_EQUAL_CHUNKS:
      return "equal_chunks";
    default:
      return "fixed";
  }
}

}  // namespace attnplan::hip::bench
