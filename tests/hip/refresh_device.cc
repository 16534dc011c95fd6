#include "hip/refresh_device.h"

#include <cstring>
#include <stdexcept>

namespace attnplan::hip_test {
namespace {

constexpr uint8_t kPoison = 0xee;  // as lengths: negative

void check(attnplan_status status, const attnplan_error& error, const char* what) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(std::string(what) + ": " + error.message);
}

attnplan_hip_attention attention_of(const attnplan_config& config) {
  attnplan_hip_attention attention = ATTNPLAN_HIP_ATTENTION_INIT;
  attention.kv_cache = config.kv_cache;
  attention.arch = config.arch;
  attention.num_q_heads = config.num_q_heads;
  attention.num_kv_heads = config.num_kv_heads;
  attention.head_size = config.head_size;
  attention.v_head_size = config.v_head_size;
  attention.mask = config.mask;
  attention.sliding_window = config.sliding_window;
  return attention;
}

}  // namespace

void RefreshDevice::Copied::set(const void* from, size_t size) {
  if (buffer == nullptr) buffer = std::make_unique<Buffer>(size, kPoison);
  if (size != buffer->bytes()) throw std::runtime_error("a tensor of another size");
  const auto* first = static_cast<const uint8_t*>(from);
  bytes.assign(first, first + size);
  buffer->write(0, bytes.data(), size);
}

RefreshDevice::RefreshDevice(const refresh::Batch& host, const cpu::RefreshRules& rules,
                             const property::Buffer& plan, const refresh::Tensors& tensors,
                             bool narrow)
    : host_(host),
      structs_(host_),
      host_plan_(refresh::copy_of(plan)),
      narrow_(narrow),
      attention_(attention_of(structs_.config())),
      plan_(plan.size(), kPoison, Buffer::Aligned::k64),
      report_(sizeof(attnplan_hip_report), kPoison) {
  plan_.write(0, plan.data(), plan.size());
  set(tensors);
  fill_args(tensors, rules);
}

void RefreshDevice::set(const refresh::Tensors& tensors) {
  query_start_loc_.set(tensors.query_start_loc);
  seq_lens_.set(tensors.seq_lens);
  ids_.set(tensors.ids);
  indptr_.set(tensors.indptr);
  if (narrow_) {
    table_rows_.set(std::vector<int32_t>(tensors.table_rows.begin(), tensors.table_rows.end()));
    slot_mapping_.set(
        std::vector<int32_t>(tensors.slot_mapping.begin(), tensors.slot_mapping.end()));
  } else {
    table_rows_.set(tensors.table_rows);
    slot_mapping_.set(tensors.slot_mapping);
  }
}

void RefreshDevice::fill_args(const refresh::Tensors& tensors, const cpu::RefreshRules& rules) {
  both_.host = host_plan_.data();
  both_.device = plan_.device();
  both_.bytes = host_plan_.size();
  args_.attention = &attention_;
  args_.plan = &both_;
  args_.query_start_loc = static_cast<const int32_t*>(query_start_loc_.buffer->device());
  args_.seq_lens = static_cast<const int32_t*>(seq_lens_.buffer->device());
  // A list without a block has an address, too.
  const bool csr = !tensors.indptr.empty();
  const auto* const ids = static_cast<const int32_t*>(csr ? ids_.buffer->device() : ids_.device());
  if (tensors.tokens) {
    args_.token_slots = ids;
  } else {
    args_.block_ids = ids;
    args_.block_indptr = static_cast<const int32_t*>(indptr_.device());
  }
  args_.table_rows = table_rows_.device();
  args_.slot_mapping = slot_mapping_.device();
  args_.report = static_cast<attnplan_hip_report*>(report_.device());
  args_.row_stride = tensors.stride;
  args_.columns = static_cast<int32_t>(tensors.columns);
  args_.num_reqs = static_cast<int32_t>(tensors.seq_lens.size());
  args_.sections = rules.sections;
  args_.max_model_len = static_cast<int32_t>(rules.max_model_len);
  args_.local_attention_chunk = static_cast<int32_t>(rules.local_chunk);
  args_.context_parallel_world = static_cast<int32_t>(rules.context_world);
  args_.context_parallel_rank = static_cast<int32_t>(rules.context_rank);
  args_.context_parallel_interleave = static_cast<int32_t>(rules.context_interleave);
  if (!narrow_) args_.flags |= ATTNPLAN_HIP_REFRESH_ROWS_INT64 | ATTNPLAN_HIP_REFRESH_SLOTS_INT64;
  if (rules.draft) args_.flags |= ATTNPLAN_HIP_REFRESH_DRAFT;
  if (rules.full_width_pads) args_.flags |= ATTNPLAN_HIP_REFRESH_FULL_WIDTH_PADS;
}

void RefreshDevice::refresh(hip::Stream stream) const {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  check(attnplan_hip_refresh(&args_, stream, &error), error, "refresh");
}

void RefreshDevice::advance(int32_t max_model_len, hip::Stream stream) const {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  auto* const seq_lens = static_cast<int32_t*>(seq_lens_.buffer->device());
  check(attnplan_hip_advance(args_.query_start_loc, seq_lens, args_.num_reqs, max_model_len, stream,
                             &error),
        error, "advance");
}

property::Buffer RefreshDevice::plan() const {
  const std::vector<uint8_t> bytes = plan_.read(0, plan_.bytes());
  property::Buffer out(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

uint32_t RefreshDevice::status() const {
  uint32_t status;
  const std::vector<uint8_t> bytes = report_.read(offsetof(attnplan_hip_report, refresh), 4);
  std::memcpy(&status, bytes.data(), 4);
  return status;
}

std::vector<int32_t> RefreshDevice::seq_lens() const {
  const std::vector<uint8_t> bytes = seq_lens_.buffer->read(0, seq_lens_.buffer->bytes());
  std::vector<int32_t> out(bytes.size() / 4);
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

std::string RefreshDevice::touched() const {
  const Buffer* const written[] = {&plan_, &report_, seq_lens_.buffer.get()};
  for (const Buffer* buffer : written) {
    if (!buffer->guards_intact()) return "written beside the plan, the report or the lengths";
  }
  for (const Copied* tensor : {&query_start_loc_, &ids_, &indptr_, &table_rows_, &slot_mapping_}) {
    if (!tensor->buffer->guards_intact() ||
        tensor->buffer->read(0, tensor->bytes.size()) != tensor->bytes) {
      return "a tensor of the step was written to";
    }
  }
  return "";
}

}  // namespace attnplan::hip_test
