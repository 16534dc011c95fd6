#include "hip/launch.h"

#include <algorithm>
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
            const Tensors& tensors, hip::Stream stream) {
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
  // An empty batch, too, has rows of a graph to write.
  const int32_t launches = std::max(plan.num_segments(), 1);
  for (args.segment = 0; args.segment < launches; ++args.segment) {
    check(attnplan_hip_launch(&args, stream, &error), error, "launch");
  }
}

DeviceLengths::DeviceLengths(const Step& step)
    : query_start_loc(4 * step.row_begin.size(), 0xff),
      seq_lens(4 * step.seq_lens.size(), 0xff),
      block_ids(4 * step.block_ids.size(), 0xff) {
  set(step);
}

void DeviceLengths::set(const Step& step) {
  const std::vector<int32_t> starts(step.row_begin.begin(), step.row_begin.end());
  query_start_loc.write(0, starts.data(), 4 * starts.size());
  seq_lens.write(0, step.seq_lens.data(), 4 * step.seq_lens.size());
  block_ids.write(0, step.block_ids.data(), 4 * step.block_ids.size());
}

void refresh(const Description& d, const Step& step, const Plan& plan, const Tensors& tensors,
             const DeviceLengths& lengths, hip::Stream stream) {
  const Layer layer(d, step, nullptr);
  attnplan_hip_plan both = ATTNPLAN_HIP_PLAN_INIT;
  both.host = plan.data();
  both.device = tensors.plan.device();
  both.bytes = plan.bytes();
  attnplan_hip_refresh_args args = ATTNPLAN_HIP_REFRESH_ARGS_INIT;
  args.attention = &layer.attention;
  args.plan = &both;
  args.query_start_loc = static_cast<const int32_t*>(lengths.query_start_loc.device());
  args.seq_lens = static_cast<const int32_t*>(lengths.seq_lens.device());
  args.block_ids = static_cast<const int32_t*>(lengths.block_ids.device());
  args.columns = step.columns;
  args.num_reqs = step.requests();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_hip_refresh(&args, stream, &error), error, "refresh");
}

void write_cache(const Description& d, const Step& step, const Contents& contents,
                 const Tensors& tensors) {
  const Layer layer(d, step, &contents);
  const attnplan_hip_kv kv = kv_of(d, tensors);
  std::vector<int64_t> slots;
  std::vector<uint16_t> k, v;
  std::vector<uint32_t> codes;
  const auto append = [&](Tensor tensor, int32_t size, int32_t block, int32_t token, int32_t head,
                          std::vector<uint16_t>* to) {
    codes.resize(static_cast<size_t>(size));
    contents.codes(tensor, block, token, head, codes);
    for (const uint32_t code : codes) {
      const double number = decode(d.cache, code) * contents.tensor_scale(tensor);
      to->push_back(static_cast<uint16_t>(encode(d.q, number)));
    }
  };
  for (int32_t r = 0; r < step.requests(); ++r) {
    for (int64_t t = 0; t < step.keys(r); ++t) {
      const int32_t block = step.block(r, t);
      const auto token = static_cast<int32_t>(t % step.block_size);
      // Every seventh row has no slot first, and is written after that.
      for (int turn = t % 7 == 0 ? 0 : 1; turn < 2; ++turn) {
        slots.push_back(turn == 0 ? -1
                                  : int64_t{block} * step.block_size * (d.packed ? 2 : 1) + token);
        for (int32_t head = 0; head < d.num_kv_heads; ++head) {
          append(Tensor::kKey, d.head_size, block, token, head, &k);
          append(Tensor::kValue, d.v_head_size, block, token, head, &v);
        }
      }
    }
  }
  if (slots.empty()) return;
  Buffer k_rows(2 * k.size(), 0xff), v_rows(2 * v.size(), 0xff), slot_rows(8 * slots.size(), 0xff);
  k_rows.write(0, k.data(), 2 * k.size());
  v_rows.write(0, v.data(), 2 * v.size());
  slot_rows.write(0, slots.data(), 8 * slots.size());
  attnplan_hip_kv_write_args args = ATTNPLAN_HIP_KV_WRITE_ARGS_INIT;
  args.attention = &layer.attention;
  args.kv = &kv;
  args.k = k_rows.device();
  args.v = v_rows.device();
  args.slots = static_cast<const int64_t*>(slot_rows.device());
  args.num_rows = static_cast<int32_t>(slots.size());
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_hip_kv_write(&args, nullptr, &error), error, "kv_write");
  if (hip::synchronize(nullptr) != 0) throw std::runtime_error("kv_write failed on the device");
}

}  // namespace attnplan::hip_test
