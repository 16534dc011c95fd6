#include "hip/launch.h"

#include <stdexcept>

#include "attnplan_hip.h"
#include "hip/runtime.h"

namespace attnplan::hip_test {
namespace {

// A description as the library takes it.
struct Layer {
  Layer(const Description& d, const Step& step, const Contents* contents)
      : arch(device_arch()), cache(cache_of(d, step)) {
    attention.kv_cache = &cache;
    attention.arch = arch.c_str();
    attention.q_dtype = dtype_of(d.q);
    attention.num_q_heads = d.num_q_heads();
    attention.num_kv_heads = d.num_kv_heads;
    attention.head_size = d.head_size;
    attention.v_head_size = d.v_head_size;
    attention.mask = d.mask;
    attention.sliding_window = d.sliding_window;
    attention.soft_cap = static_cast<float>(d.soft_cap);
    if (contents == nullptr) return;
    attention.softmax_scale = static_cast<float>(contents->softmax_scale());
    attention.k_scale = contents->tensor_scale(Tensor::kKey);
    attention.v_scale = contents->tensor_scale(Tensor::kValue);
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  std::string arch;
  attnplan_kv_cache cache;
  attnplan_hip_attention attention = ATTNPLAN_HIP_ATTENTION_INIT;
};

void check(attnplan_status status, const attnplan_error& error, const char* what) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(std::string(what) + ": " + error.message);
}

attnplan_hip_token_scales token_scales(const Description& d, const std::optional<Buffer>& buffer) {
  if (!buffer) return {nullptr, 0, 0, 0};
  const ScaleStrides strides = scale_strides_of(d);
  return {static_cast<float*>(buffer->device()), strides.page, strides.head, strides.token};
}

attnplan_hip_kv kv_of(const Description& d, const Tensors& t) {
  attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
  auto* const cache = static_cast<uint8_t*>(t.cache.device());
  kv.k = cache;
  // Every second time the library finds V behind K by itself.
  if (d.seed % 2 == 0) kv.v = cache + (t.layout.v.base - t.layout.k.base) * bytes_of(d.cache);
  kv.k_scales = token_scales(d, t.k_scales);
  kv.v_scales = token_scales(d, t.v_scales);
  return kv;
}

}  // namespace

std::string device_arch() {
  hip::DeviceProperties properties;
  if (hip::device_properties(0, &properties) != 0) throw std::runtime_error("no device");
  return properties.arch;
}

std::vector<const attnplan_contract*> contracts_of(const Description& d, const Step& step,
                                                   Kernels kernels) {
  const Layer layer(d, step, nullptr);
  const attnplan_contract* const* all = nullptr;
  size_t count = 0;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_hip_contracts(&layer.attention, &all, &count, &error), error, "contracts");
  std::vector<const attnplan_contract*> chosen;
  for (size_t i = 0; i < count; ++i) {
    const attnplan_route route = all[i]->route;
    const bool wanted = kernels == Kernels::kAll ||
                        (kernels == Kernels::kDecode && route != ATTNPLAN_ROUTE_PREFILL) ||
                        (kernels == Kernels::kExtend && route == ATTNPLAN_ROUTE_EXTEND) ||
                        (kernels == Kernels::kPrefill && route == ATTNPLAN_ROUTE_PREFILL);
    if (wanted) chosen.push_back(all[i]);
  }
  return chosen;
}

size_t workspace_bytes(const Description& d, const Step& step, const Plan& plan) {
  const Layer layer(d, step, nullptr);
  size_t bytes = 0;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_hip_workspace_size(&layer.attention, plan.data(), plan.bytes(), &bytes, &error),
        error, "size of the workspace");
  return bytes;
}

void launch(const Description& d, const Step& step, const Contents& contents, const Plan& plan,
            const Tensors& tensors) {
  const Layer layer(d, step, &contents);
  const attnplan_hip_kv kv = kv_of(d, tensors);
  attnplan_hip_plan both = ATTNPLAN_HIP_PLAN_INIT;
  both.host = plan.data();
  both.device = tensors.plan.device();
  both.bytes = plan.bytes();
  const Strides strides = strides_of(d);
  attnplan_hip_launch_args args = ATTNPLAN_HIP_LAUNCH_ARGS_INIT;
  args.attention = &layer.attention;
  args.kv = &kv;
  args.plan = &both;
  args.q = tensors.q.device();
  args.out = tensors.out->device();
  args.lse = d.lse ? static_cast<float*>(tensors.lse->device()) : nullptr;
  args.workspace = tensors.workspace->device();
  args.workspace_bytes = tensors.workspace->bytes();
  if (!d.dense) {
    args.q_row_stride = strides.q_row;
    args.q_head_stride = strides.q_head;
    args.out_row_stride = strides.out_row;
    args.out_head_stride = strides.out_head;
    args.lse_row_stride = strides.lse_row;
  }
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  for (args.segment = 0; args.segment < plan.num_segments(); ++args.segment) {
    check(attnplan_hip_launch(&args, nullptr, &error), error, "launch");
  }
}

}  // namespace attnplan::hip_test
