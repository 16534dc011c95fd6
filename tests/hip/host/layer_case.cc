#include "layer_case.h"

#include "hip/contracts.h"

namespace attnplan::hip_test {
namespace {

template <class T>
T* device_address(uintptr_t page) {
  return reinterpret_cast<T*>(page << 20);
}

uint64_t sections() {
  uint64_t bits = 0;
  for (const int32_t id :
       {ATTNPLAN_SECTION_QUERY_START_LOC, ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_CONTEXT_LENS,
        ATTNPLAN_SECTION_PAGE_INDPTR, ATTNPLAN_SECTION_PAGE_INDICES, ATTNPLAN_SECTION_ROW_REQUEST,
        ATTNPLAN_SECTION_ROW_POSITION}) {
    bits |= uint64_t{1} << id;
  }
  return bits;
}

attnplan_config config_of(const LayerCase& layer) {
  const attnplan_hip_attention& a = layer.attention;
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.kv_cache = &layer.cache;
  config.arch = layer.arch.c_str();
  config.num_q_heads = a.num_q_heads;
  config.num_kv_heads = a.num_kv_heads;
  config.head_size = a.head_size;
  config.v_head_size = a.v_head_size;
  config.mask = a.mask;
  config.sliding_window = a.sliding_window;
  config.features = a.soft_cap > 0 ? ATTNPLAN_FEATURE_SOFT_CAP : 0;
  config.num_workers = 8;
  config.work = ATTNPLAN_WORK_STREAM_K;
  config.sections = sections();
  config.decode_threshold = layer.decode_threshold;
  if (layer.fixed_layout) {
    config.section_layout = ATTNPLAN_SECTIONS_FIXED;
    config.max_num_seqs = 8;
    config.max_num_batched_tokens = 64;
    config.max_model_len = 96;
  }
  return config;
}

}  // namespace

LayerCase::LayerCase() {
  cache.num_blocks = 64;
  cache.block_size = 16;
  cache.page_size = 16;
}

LayerPlan::LayerPlan(const LayerCase& layer, const char* profile) : status_(make(layer, profile)) {}

attnplan_status LayerPlan::make(const LayerCase& layer, const char* profile) {
  attnplan_config config = config_of(layer);
  config.profile = profile;
  if (profile == nullptr) {
    attnplan_hip_attention attention = layer.attention;
    attention.kv_cache = &layer.cache;
    attention.arch = layer.arch.c_str();
    hip::Layer read;
    Error refused;
    const Status status = hip::read_layer(&attention, &read, &refused);
    if (status != Status::kOk) return static_cast<attnplan_status>(status);
    const hip::ContractList list = hip::layer_contracts(read);
    config.contracts = list.contracts;
    config.num_contracts = list.count;
  }
  attnplan_planner* planner = nullptr;
  attnplan_scratch* scratch = nullptr;
  attnplan_status status = attnplan_planner_create(&config, &planner, &error_);
  if (status == ATTNPLAN_OK) status = attnplan_scratch_create(nullptr, &scratch, &error_);
  const std::unique_ptr<attnplan_planner, void (*)(attnplan_planner*)> planner_end(
      planner, attnplan_planner_destroy);
  const std::unique_ptr<attnplan_scratch, void (*)(attnplan_scratch*)> scratch_end(
      scratch, attnplan_scratch_destroy);
  if (status != ATTNPLAN_OK) return status;

  std::vector<int32_t> ids(layer.query_lens.size() * 6, 1);
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = layer.query_lens.data();
  step.seq_lens = layer.seq_lens.data();
  step.num_reqs = static_cast<int32_t>(layer.query_lens.size());
  attnplan_group group = ATTNPLAN_GROUP_INIT;
  group.block_ids = ids.data();
  group.columns = 6;
  size_t room = 0;
  status = attnplan_plan_size(planner, scratch, &step, &group, &room, &error_);
  if (status != ATTNPLAN_OK) return status;
  blob_.reset(std::aligned_alloc(64, (room + 63) / 64 * 64));
  return attnplan_plan_build(planner, scratch, &step, &group, blob_.get(), room, &bytes_, &error_);
}

LaunchCase::LaunchCase(const LayerCase& given, const LayerPlan& planned) : layer(given) {
  layer.attention.kv_cache = &layer.cache;
  layer.attention.arch = layer.arch.c_str();
  kv.k = device_address<void>(1);
  if (layer.cache.scale == ATTNPLAN_SCALE_TOKEN_HEAD) {
    kv.k_scales.data = device_address<float>(2);
    kv.v_scales.data = device_address<float>(3);
  }
  plan.host = planned.data();
  plan.device = device_address<void>(4);
  plan.bytes = planned.bytes();
  args.attention = &layer.attention;
  args.kv = &kv;
  args.plan = &plan;
  args.q = device_address<void>(5);
  args.out = device_address<void>(6);
  args.lse = device_address<float>(7);
  args.workspace = device_address<void>(8);
  args.workspace_bytes = size_t{1} << 30;
  if (layer.attention.top_k > 0) args.selected = device_address<int32_t>(9);
}

}  // namespace attnplan::hip_test
