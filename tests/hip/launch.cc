// Until the library launches: arguments filled in here, from the published blob and the reference
// layout.
#include "hip/launch.h"

#include <stdexcept>

#include "hip/attention_args.h"
#include "hip/kernel_table.h"

#if defined(ATTNPLAN_HIP_EMULATED)
#include "hip/emulation.h"
#endif

namespace attnplan::hip_test {
namespace {

constexpr int32_t kQueryTile = 64;
constexpr int32_t kMergeBlocks = 8;
constexpr int32_t kMergeThreads = 256;

hip::TableArch table_arch() {
#if defined(ATTNPLAN_HIP_EMULATED)
  return hip::emulation().arch;
#else
  return hip::TableArch::kOwn;
#endif
}

attnplan_contract make(const char* name, attnplan_route route) {
  attnplan_contract contract = ATTNPLAN_CONTRACT_INIT;
  contract.name = name;
  contract.route = route;
  contract.masks = 1u << ATTNPLAN_MASK_CAUSAL | 1u << ATTNPLAN_MASK_FULL;
  contract.features = ATTNPLAN_FEATURE_LSE | ATTNPLAN_FEATURE_SOFT_CAP;
  contract.query_tile = kQueryTile;
  contract.kv_tile = 128;
  return contract;
}
const attnplan_contract kDecode = make("paged_decode", ATTNPLAN_ROUTE_DECODE);
const attnplan_contract kExtend = make("paged_extend", ATTNPLAN_ROUTE_EXTEND);
const attnplan_contract kPrefill = make("paged_prefill", ATTNPLAN_ROUTE_PREFILL);

const attnplan_work& work_of(const Plan& plan) {
  return *static_cast<const attnplan_work*>(plan.section(ATTNPLAN_SECTION_WORK).data);
}

template <class T>
const T* on_device(const Plan& plan, const Tensors& tensors, int32_t id) {
  const attnplan_section_view view = plan.section(id);
  if (view.data == nullptr) return nullptr;
  const auto offset = static_cast<const uint8_t*>(view.data) -
                      static_cast<const uint8_t*>(plan.data());
  return reinterpret_cast<const T*>(static_cast<const uint8_t*>(tensors.plan.device()) + offset);
}
const attnplan_section* tiles_section(const Plan& plan, const Tensors& tensors) {
  const auto* header = static_cast<const attnplan_plan_header*>(plan.data());
  const auto table = [&](const void* blob) {
    return reinterpret_cast<const attnplan_section*>(static_cast<const uint8_t*>(blob) +
                                                     header->header_bytes);
  };
  int32_t i = 0;
  while (table(plan.data())[i].id != ATTNPLAN_SECTION_MERGE_TILES) ++i;
  return table(tensors.plan.device()) + i;
}

hip::CacheTensor cache_tensor(const cpu::TensorLayout& layout, const Tensors& tensors, int bytes) {
  return {static_cast<const uint8_t*>(tensors.cache.device()) + layout.base * bytes,
          layout.block_stride * bytes,
          layout.page_stride * bytes,
          layout.head_stride * bytes,
          layout.token_stride * bytes,
          layout.element_split > 1 ? layout.element_stride * bytes : 16};
}
hip::ScaleTensor scale_tensor(const Description& d, const Tensors& tensors, const Buffer& buffer) {
  const ScaleStrides strides = scale_strides_of(d);
  return {static_cast<const float*>(buffer.device()),
          strides.page * tensors.layout.block_page_stride, strides.page, strides.head,
          strides.token};
}

hip::AttentionArgs attention_args(const Description& d, const Contents& contents,
                                  const Plan& plan, const Tensors& t) {
  hip::AttentionArgs args = {};
  args.query_start_loc = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_QUERY_START_LOC);
  args.seq_lens = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_SEQ_LENS);
  args.context_lens = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_CONTEXT_LENS);
  args.page_indptr = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_PAGE_INDPTR);
  args.page_indices = on_device<int32_t>(
      plan, t, d.page_table ? ATTNPLAN_SECTION_PAGE_TABLE : ATTNPLAN_SECTION_PAGE_INDICES);
  args.page_table_width =
      static_cast<const attnplan_plan_header*>(plan.data())->page_table_width;
  args.items = on_device<attnplan_work_item>(plan, t, ATTNPLAN_SECTION_WORK_ITEMS);
  args.worker_indptr = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_WORKER_INDPTR);

  const Strides strides = strides_of(d);
  args.q = static_cast<const uint16_t*>(t.q.device());
  args.out = static_cast<uint16_t*>(t.out->device());
  args.lse = d.lse ? static_cast<float*>(t.lse->device()) : nullptr;
  args.q_row_stride = strides.q_row;
  args.q_head_stride = strides.q_head;
  args.out_row_stride = strides.out_row;
  args.out_head_stride = strides.out_head;
  args.lse_row_stride = strides.lse_row;
  args.k = cache_tensor(t.layout.k, t, bytes_of(d.cache));
  args.v = cache_tensor(t.layout.v, t, bytes_of(d.cache));
  if (t.k_scales) args.k_scales = scale_tensor(d, t, *t.k_scales);
  if (t.v_scales) args.v_scales = scale_tensor(d, t, *t.v_scales);
  args.partial_out = static_cast<float*>(t.workspace->device());
  args.partial_lse =
      args.partial_out + int64_t{work_of(plan).num_slots} * kQueryTile * d.v_head_size;

  args.num_kv_heads = d.num_kv_heads;
  args.group = d.group;
  args.query_tile = kQueryTile;
  while (1 << args.page_shift < d.page_size) ++args.page_shift;
  args.pages_per_stride = static_cast<int32_t>(t.layout.block_page_stride);
  args.q_is_bf16 = d.q == Format::kBf16;
  args.causal = d.mask == ATTNPLAN_MASK_CAUSAL;
  args.sliding_window = d.sliding_window;
  constexpr double kLog2E = 1.4426950408889634;
  const double scale = contents.softmax_scale() * contents.tensor_scale(Tensor::kKey);
  args.scale_log2 = static_cast<float>(d.soft_cap > 0 ? scale / d.soft_cap : scale * kLog2E);
  args.soft_cap_log2 = static_cast<float>(d.soft_cap * kLog2E);
  args.v_scale = contents.tensor_scale(Tensor::kValue);
  return args;
}

hip::MergeArgs merge_args(const Description& d, const Plan& plan, const Tensors& t,
                          const hip::AttentionArgs& attention) {
  hip::MergeArgs args = {};
  args.segment = attention.segment;
  args.tiles_section = tiles_section(plan, t);
  args.tiles = on_device<attnplan_merge_tile>(plan, t, ATTNPLAN_SECTION_MERGE_TILES);
  args.indptr = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_MERGE_INDPTR);
  args.slots = on_device<int32_t>(plan, t, ATTNPLAN_SECTION_MERGE_SLOTS);
  args.query_start_loc = attention.query_start_loc;
  args.partial_out = attention.partial_out;
  args.partial_lse = attention.partial_lse;
  args.out = attention.out;
  args.lse = attention.lse;
  args.out_row_stride = attention.out_row_stride;
  args.out_head_stride = attention.out_head_stride;
  args.lse_row_stride = attention.lse_row_stride;
  args.group = d.group;
  args.query_tile = kQueryTile;
  args.v_head_size = d.v_head_size;
  args.out_is_bf16 = attention.q_is_bf16;
  args.v_scale = attention.v_scale;
  return args;
}

}  // namespace

std::string device_arch() {
  hip::DeviceProperties properties;
  if (hip::device_properties(0, &properties) != 0) throw std::runtime_error("no device");
  return properties.arch;
}

std::vector<const attnplan_contract*> contracts_of(const Description&, const Step&,
                                                   Kernels kernels) {
  switch (kernels) {
    case Kernels::kAll:
      return {&kDecode, &kExtend, &kPrefill};
    case Kernels::kDecode:
      return {&kDecode, &kExtend};
    case Kernels::kExtend:
      return {&kExtend};
    default:
      return {&kPrefill};
  }
}

size_t workspace_bytes(const Description& d, const Step&, const Plan& plan) {
  return static_cast<size_t>(int64_t{work_of(plan).num_slots} * kQueryTile * (d.v_head_size + 1)) *
         sizeof(float);
}

void launch(const Description& d, const Step&, const Contents& contents, const Plan& plan,
            const Tensors& tensors) {
  hip::AttentionArgs args = attention_args(d, contents, plan, tensors);
  const int line =
      hip::find_attention({dtype_of(d.cache), d.head_size, d.v_head_size, d.shuffle, 1});
  if (line < 0) throw std::runtime_error("no kernel for this problem");
  hip::DeviceProperties device;
  (void)hip::device_properties(0, &device);
  const hip::TableArch arch = table_arch();
  for (int32_t i = 0; i < plan.num_segments(); ++i) {
    args.segment = on_device<attnplan_segment>(plan, tensors, ATTNPLAN_SECTION_SEGMENTS) + i;
    (void)hip::enqueue(hip::attention_kernel(line, arch), work_of(plan).workers,
                       4 * device.wave_size, &args, nullptr);
    if (plan.section(ATTNPLAN_SECTION_MERGE_TILES).count == 0) continue;
    const hip::MergeArgs merge = merge_args(d, plan, tensors, args);
    (void)hip::enqueue(hip::service_kernel(hip::Service::kMerge, arch), kMergeBlocks, kMergeThreads, &merge,
                       nullptr);
  }
}

}  // namespace attnplan::hip_test
