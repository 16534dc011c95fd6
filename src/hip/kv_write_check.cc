#include "hip/kv_write_check.h"

#include <algorithm>
#include <bit>

#include "hip/argument_checks.h"
#include "hip/launch_check.h"
#include "hip/select_check.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

struct Source {
  const char* name;
  const char* row_stride_name;
  const char* head_stride_name;
  const void* rows;
  int64_t row_stride;
  int64_t head_stride;
  int32_t num_heads;
  int32_t head_size;
};

Status fill_source(const Source& source, KvWriteTensor* tensor, Error* error) {
  if (source.rows == nullptr) return Status::kOk;
  Status status = check_pointer(error, source.name, source.rows, 16);
  if (status == Status::kOk) {
    status = read_stride(error, source.head_stride_name, source.head_stride, source.head_size,
                         source.head_size, &tensor->head_stride);
  }
  if (status == Status::kOk) {
    status = read_stride(error, source.row_stride_name, source.row_stride,
                         int64_t{source.num_heads} * source.head_size, source.head_size,
                         &tensor->row_stride);
  }
  if (status == Status::kOk) {
    status = check_overlap(error, source.row_stride_name, tensor->row_stride, tensor->head_stride,
                           source.num_heads, source.head_size);
  }
  tensor->rows = static_cast<const uint16_t*>(source.rows);
  tensor->num_heads = source.num_heads;
  tensor->head_size = source.head_size;
  return status;
}

void fill_target(const CacheTensor& cache, const ScaleTensor& scales, int32_t pages_per_stride,
                 float scale, KvWriteTensor* tensor) {
  tensor->cache = const_cast<uint8_t*>(cache.data);
  tensor->layout = cache;
  tensor->pages_per_stride = pages_per_stride;
  tensor->scales = const_cast<float*>(scales.data);
  tensor->scale_layout = scales;
  tensor->scale = scale;
}

Status fill_index(const attnplan_hip_kv_write_args& given, const Layer& layer, int32_t page_size,
                  KvWriteTensor* tensor, Error* error) {
  if (given.index_k == nullptr) return Status::kOk;
  IndexCache index;
  Status status = read_index(given.index, layer, page_size, &index, error);
  if (status != Status::kOk) return status;
  if (index.index.dtype != layer.view_dtype) {
    return error->set(Status::kUnimplemented, Code::kDtypeMismatch, -1, index.index.dtype,
                      layer.view_dtype, "no kernel: an index of another dtype than the cache");
  }
  status = fill_source({"index_k", "index_k_row_stride", "index_k_row_stride", given.index_k,
                        given.index_k_row_stride, 0, 1, index.index.head_size},
                       tensor, error);
  fill_target(index.k, {}, index.pages_per_stride, index.index.k_scale, tensor);
  return status;
}

Status fill_tensors(const attnplan_hip_kv_write_args& given, const Layer& layer, int32_t page_size,
                    KvWriteArgs* args, Error* error) {
  const attnplan_hip_attention& a = layer.attention;
  KvWriteTensor& k = args->tensors[0];
  KvWriteTensor& v = args->tensors[1];
  Status status = fill_source({"k", "k_row_stride", "k_head_stride", given.k, given.k_row_stride,
                               given.k_head_stride, a.num_kv_heads, a.head_size},
                              &k, error);
  if (status == Status::kOk) {
    status = fill_source({"v", "v_row_stride", "v_head_stride", given.v, given.v_row_stride,
                          given.v_head_stride, a.num_kv_heads, a.v_head_size},
                         &v, error);
  }
  if (status == Status::kOk && (given.k != nullptr || given.v != nullptr)) {
    AttentionArgs cache = {};
    status = fill_cache(given.kv, layer, page_size, &cache, error);
    fill_target(cache.k, cache.k_scales, cache.pages_per_stride, a.k_scale, &k);
    fill_target(cache.v, cache.v_scales, cache.pages_per_stride, a.v_scale, &v);
    v.shuffled_values = layer.shuffled();
  }
  if (status != Status::kOk) return status;
  return fill_index(given, layer, page_size, &args->tensors[2], error);
}

Status check_units(int64_t units, Error* error) {
  if (units <= INT32_MAX) return Status::kOk;
  return invalid(error, "num_rows x heads", units, INT32_MAX, "more than one launch takes");
}

}  // namespace

Status check_kv_write(const attnplan_hip_kv_write_args* given, KvWriteLaunch* launch,
                      Error* error) {
  attnplan_hip_kv_write_args copy;
  const attnplan_hip_kv_write_args* args;
  Layer layer;
  *launch = {};
  Status status = read_struct(given, &copy, &args, "attnplan_hip_kv_write_args", error);
  if (status == Status::kOk) status = read_layer(args->attention, &layer, error);
  if (status == Status::kOk) status = need_cache(layer, error);
  if (status == Status::kOk) status = check_supported(layer, error);
  if (status != Status::kOk) return status;
  if ((args->flags & ~ATTNPLAN_HIP_VERIFY) != 0) return unknown_value(error, "flags", args->flags);
  if (args->num_rows < 0) return check_negative(error, "num_rows", args->num_rows);
  if (args->num_rows == 0) return Status::kOk;
  status = check_pointer(error, "slots", args->slots, alignof(int64_t));
  const int32_t page_size = kernel_page_size(layer);
  if (status == Status::kOk && page_size == 0) {
    status = invalid(error, "kv_cache.block_size", layer.cache.block_size, 16,
                     "no page size of the kernels divides it");
  }
  if (status == Status::kOk) status = fill_tensors(*args, layer, page_size, &launch->args, error);
  if (status != Status::kOk) return status;

  KvWriteArgs& out = launch->args;
  int32_t largest = 64;
  for (const KvWriteTensor& tensor : out.tensors) {
    const int64_t units = int64_t{args->num_rows} * tensor.num_heads;
    if (const Status checked = check_units(units, error); checked != Status::kOk) return checked;
    launch->units += units;
    largest = std::max(largest, tensor.head_size);
  }
  out.slots = args->slots;
  out.num_rows = args->num_rows;
  out.page_shift = std::countr_zero(static_cast<uint32_t>(page_size));
  out.source_is_bf16 = layer.attention.q_dtype == ATTNPLAN_DTYPE_BF16;
  out.head_lanes = static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(largest) / 8));
  if ((args->flags & ATTNPLAN_HIP_VERIFY) != 0) {
    status = check_pointer(error, "report", args->report, alignof(int32_t));
    if (status != Status::kOk) return status;
    out.bad_pages = &args->report->bad_pages;
    out.num_pages = static_cast<int32_t>(layer.max_page_id + 1);
  }
  launch->kernel = {layer.view_dtype, 0, 0, false, 0};
  return Status::kOk;
}

}  // namespace attnplan::hip
