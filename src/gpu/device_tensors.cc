#include "gpu/device_tensors.h"

#include <cstring>
#include <stdexcept>

namespace attnplan::gpu {
namespace {

constexpr uint8_t kNan = 0xff;  // of float32, bf16 and fp16
constexpr int64_t kMostBytes = int64_t{1} << 33;

void put(std::vector<uint8_t>* bytes, int64_t index, int width, uint32_t code) {
  std::memcpy(bytes->data() + index * width, &code, static_cast<size_t>(width));
}

}  // namespace

cpu::Format format_of(attnplan_dtype dtype) {
  for (const auto format : {cpu::Format::kBf16, cpu::Format::kFp16, cpu::Format::kE4m3fn,
                            cpu::Format::kE4m3fnuz, cpu::Format::kE5m2}) {
    if (cpu::dtype_of(format) == dtype) return format;
  }
  throw std::runtime_error("a cache of a format that no kernel reads");
}

DeviceTensors::DeviceTensors(const Device& device, const DevicePlan& plan, const Batch& batch,
                             const cpu::Values& values, const cpu::Origins& origins)
    : uploads_(*device.memory),
      batch_(batch),
      values_(values),
      origins_(origins),
      rows_(plan.rows()),
      q_format_(format_of(plan.attention().q_dtype)),
      cache_format_(format_of(plan.view())),
      layout_(cpu::make_layout(plan.cache(), batch.shape, batch.table.num_blocks)),
      lhbnc_(plan.cache().layout == ATTNPLAN_LAYOUT_LHBNC),
      packed_((plan.cache().flags & ATTNPLAN_KV_PACKED) != 0),
      token_scales_(plan.cache().scale == ATTNPLAN_SCALE_TOKEN_HEAD) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  if (device.library.workspace_size(&plan.attention(), plan.data(), plan.bytes(), &workspace_bytes_,
                                    &error) != ATTNPLAN_OK) {
    throw std::runtime_error(error.message);
  }
  const auto* blob = static_cast<const uint8_t*>(plan.data());
  plan_ = uploads_.add(std::vector<uint8_t>(blob, blob + plan.bytes()));
  q_ = uploads_.add(queries());
  cache_ = uploads_.add(cache());
  out_ = uploads_.add(
      std::vector<uint8_t>(outputs() * static_cast<size_t>(2 * batch.shape.v_head_size), kNan));
  lse_ = uploads_.add(std::vector<uint8_t>(outputs() * sizeof(float), kNan));
  workspace_ = uploads_.add(std::vector<uint8_t>(workspace_bytes_ + 1, kNan));
  if (!token_scales_) return;
  // All of them 1.
  const int64_t pages = batch.table.num_blocks * layout_.block_page_stride;
  const std::vector<float> ones(
      static_cast<size_t>(pages * batch.shape.num_kv_heads * layout_.page_size), 1.0f);
  std::vector<uint8_t> bytes(ones.size() * sizeof(float));
  std::memcpy(bytes.data(), ones.data(), bytes.size());
  scales_ = uploads_.add(bytes);
}

attnplan_hip_kv DeviceTensors::kv() const {
  attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
  kv.k = cache_;
  kv.k_scales.data = kv.v_scales.data = static_cast<float*>(scales_);
  return kv;
}

std::vector<uint8_t> DeviceTensors::queries() const {
  const cpu::AttentionShape& shape = batch_.shape;
  std::vector<uint8_t> bytes(queried() * static_cast<size_t>(2 * shape.head_size));
  std::vector<double> vector(static_cast<size_t>(shape.head_size));
  for (int32_t request = 0; request < batch_.lengths.size(); ++request) {
    const int64_t begin = batch_.lengths.row_begin[static_cast<size_t>(request)];
    for (int64_t i = 0; i < batch_.lengths.query_lens[static_cast<size_t>(request)]; ++i) {
      const int64_t row = batch_.plan_row[static_cast<size_t>(begin + i)];
      for (int32_t head = 0; head < shape.num_q_heads; ++head) {
        values_.fill(cpu::Tensor::kQuery, request, i, head, shape.head_size, vector.data());
        const int64_t at = (row * shape.num_q_heads + head) * shape.head_size;
        for (int32_t e = 0; e < shape.head_size; ++e) {
          put(&bytes, at + e, 2, cpu::encode(q_format_, vector[static_cast<size_t>(e)]));
        }
      }
    }
  }
  return bytes;
}

std::vector<uint8_t> DeviceTensors::cache() const {
  const int64_t blocks = batch_.table.num_blocks;
  const int64_t planes = lhbnc_ ? batch_.shape.num_kv_heads : 1;
  const int64_t elements = packed_ ? blocks * layout_.k.block_stride
                                   : layout_.v.base + planes * blocks * layout_.v.block_stride;
  const int64_t bytes_needed = elements * cpu::bytes_of(cache_format_);
  if (bytes_needed > kMostBytes) throw std::runtime_error("a cache too large to be filled here");
  std::vector<uint8_t> bytes(static_cast<size_t>(bytes_needed), cpu::poison_byte(cache_format_));
  for (int32_t request = 0; request < batch_.lengths.size(); ++request) {
    if (batch_.lengths.query_lens[static_cast<size_t>(request)] == 0) continue;
    const int64_t tokens =
        batch_.table.tokens(request, batch_.lengths.seq_lens[static_cast<size_t>(request)]);
    for (int64_t token = 0; token < tokens; ++token) {
      fill_token(request, token, cpu::Tensor::kKey, layout_.k, batch_.shape.head_size, &bytes);
      fill_token(request, token, cpu::Tensor::kValue, layout_.v, batch_.shape.v_head_size, &bytes);
    }
  }
  return bytes;
}

void DeviceTensors::fill_token(int32_t request, int64_t token, cpu::Tensor tensor,
                               const cpu::TensorLayout& where, int32_t size,
                               std::vector<uint8_t>* bytes) const {
  const cpu::TokenOrigin origin = origins_.at(request, token);
  const int32_t block = batch_.table.block(request, token / batch_.table.block_size);
  const int64_t in_block = token % batch_.table.block_size;
  const int64_t page = layout_.page_id(block, in_block / layout_.page_size);
  std::vector<double> vector(static_cast<size_t>(size));
  for (int32_t head = 0; head < batch_.shape.num_kv_heads; ++head) {
    values_.fill(tensor, origin.request, origin.position, head, size, vector.data());
    const int64_t row = layout_.row_address(where, page, head, in_block % layout_.page_size);
    for (int32_t e = 0; e < size; ++e) {
      put(bytes, row + where.element_offset(e), cpu::bytes_of(cache_format_),
          cpu::encode(cache_format_, vector[static_cast<size_t>(e)]));
    }
  }
}

cpu::Output DeviceTensors::read_output() const {
  const auto size = static_cast<size_t>(batch_.shape.v_head_size);
  std::vector<uint16_t> out(outputs() * size);
  std::vector<float> lse(outputs());
  uploads_.memory().download(out.data(), out_, out.size() * sizeof(uint16_t));
  uploads_.memory().download(lse.data(), lse_, lse.size() * sizeof(float));
  cpu::Output result(rows_, batch_.shape);
  for (int64_t row = 0; row < rows_; ++row) {
    for (int32_t head = 0; head < batch_.shape.num_q_heads; ++head) {
      const auto at = static_cast<size_t>(row * batch_.shape.num_q_heads + head);
      result.lse(row, head) = lse[at];
      for (size_t e = 0; e < size; ++e) {
        result.head(row, head)[e] = cpu::decode(q_format_, out[at * size + e]);
      }
    }
  }
  return result;
}

}  // namespace attnplan::gpu
