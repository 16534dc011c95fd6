#include "gpu/device_index.h"

#include <cstring>
#include <stdexcept>

namespace attnplan::gpu {
namespace {

constexpr uint8_t kNan = 0xff;  // of float32 and 16-bit formats; as a block: none

void put(std::vector<uint8_t>* bytes, int64_t index, int width, uint32_t code) {
  std::memcpy(bytes->data() + index * width, &code, static_cast<size_t>(width));
}

void check(attnplan_status status, const attnplan_error& error) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(error.message);
}

}  // namespace

DeviceIndex::DeviceIndex(const Device& device, const DevicePlan& plan, const Batch& batch,
                         const cpu::Values& values, const cpu::Origins& origins)
    : batch_(batch), uploads_(*device.memory) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(device.library.select_workspace_size(&plan.attention(), plan.data(), plan.bytes(), 0,
                                             &workspace_bytes_, &error),
        error);
  keys_ = uploads_.add(keys(format_of(plan.view()), values, origins));
  queries_ = uploads_.add(queries(format_of(plan.attention().q_dtype), values));
  const int64_t blocks = plan.rows() * batch.shape.num_kv_heads * batch.sparse->top_k;
  selected_ = uploads_.add(std::vector<uint8_t>(static_cast<size_t>(blocks) * 4, kNan));
  workspace_ = uploads_.add(std::vector<uint8_t>(workspace_bytes_ + 1, kNan));
}

void DeviceIndex::select(const Device& device, const DevicePlan& plan,
                         const attnplan_hip_plan& both, int32_t segment) const {
  attnplan_hip_index index = ATTNPLAN_HIP_INDEX_INIT;
  index.k = keys_;
  index.head_size = batch_.sparse->index_head_size;
  index.init_blocks = batch_.sparse->init_blocks;
  index.local_blocks = batch_.sparse->local_blocks;
  attnplan_hip_select_args args = ATTNPLAN_HIP_SELECT_ARGS_INIT;
  args.attention = &plan.attention();
  args.index = &index;
  args.plan = &both;
  args.q = queries_;
  args.selected = static_cast<int32_t*>(selected_);
  args.workspace = workspace_;
  args.workspace_bytes = workspace_bytes_;
  args.segment = segment;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(device.library.select(&args, nullptr, &error), error);
}

std::vector<uint8_t> DeviceIndex::queries(cpu::Format format, const cpu::Values& values) const {
  const int32_t size = batch_.sparse->index_head_size, heads = batch_.shape.num_kv_heads;
  std::vector<uint8_t> bytes(static_cast<size_t>(batch_.lengths.rows() * heads * size * 2));
  std::vector<double> vector(static_cast<size_t>(size));
  for (int32_t request = 0; request < batch_.lengths.size(); ++request) {
    const int64_t begin = batch_.lengths.row_begin[static_cast<size_t>(request)];
    for (int64_t i = 0; i < batch_.lengths.query_lens[static_cast<size_t>(request)]; ++i) {
      const int64_t row = batch_.plan_row[static_cast<size_t>(begin + i)];
      for (int32_t head = 0; head < heads; ++head) {
        values.fill(cpu::Tensor::kIndexQuery, request, i, head, size, vector.data());
        for (int32_t e = 0; e < size; ++e) {
          put(&bytes, (row * heads + head) * size + e, 2,
              cpu::encode(format, vector[static_cast<size_t>(e)]));
        }
      }
    }
  }
  return bytes;
}

std::vector<uint8_t> DeviceIndex::keys(cpu::Format format, const cpu::Values& values,
                                       const cpu::Origins& origins) const {
  const int32_t size = batch_.sparse->index_head_size, width = cpu::bytes_of(format);
  const cpu::BlockTable& table = batch_.table;
  std::vector<uint8_t> bytes(
      static_cast<size_t>(table.num_blocks * table.block_size * size * width),
      cpu::poison_byte(format));
  std::vector<double> vector(static_cast<size_t>(size));
  for (int32_t request = 0; request < batch_.lengths.size(); ++request) {
    if (batch_.lengths.query_lens[static_cast<size_t>(request)] == 0) continue;
    const int64_t tokens =
        table.tokens(request, batch_.lengths.seq_lens[static_cast<size_t>(request)]);
    for (int64_t token = 0; token < tokens; ++token) {
      const cpu::TokenOrigin origin = origins.at(request, token);
      values.fill(cpu::Tensor::kIndexKey, origin.request, origin.position, 0, size, vector.data());
      const int64_t block = table.block(request, token / table.block_size);
      const int64_t slot = block * table.block_size + token % table.block_size;
      for (int32_t e = 0; e < size; ++e) {
        put(&bytes, slot * size + e, width, cpu::encode(format, vector[static_cast<size_t>(e)]));
      }
    }
  }
  return bytes;
}

}  // namespace attnplan::gpu
