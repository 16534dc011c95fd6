#include "hip/select_check.h"

#include <algorithm>
#include <cmath>

#include "attnplan/kv_cache.h"
#include "hip/argument_checks.h"
#include "hip/contract_table.h"
#include "hip/launch_check.h"
#include "hip/plan_layer.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

int32_t blocks_of(int32_t tokens) {
  return static_cast<int32_t>(
      std::max<int64_t>((int64_t{tokens} + kM3BlockKeys - 1) / kM3BlockKeys, 1));
}

bool has_index(attnplan_dtype dtype, int32_t head_size, int32_t tiles) {
  const auto* const end = std::end(kM3IndexLines);
  return std::find(std::begin(kM3IndexLines), end, KernelKey{dtype, head_size, 0, false, tiles}) !=
         end;
}

Status check_index(const attnplan_hip_index& index, const attnplan_hip_attention& a, Error* error) {
  if (index.reserved0 != 0) return unknown_value(error, "index reserved0", index.reserved0);
  if (!serves_query(index.dtype, a.q_dtype) || !has_index(index.dtype, index.head_size, 1)) {
    return error->set(Status::kUnimplemented, Code::kDtypeMismatch, -1, index.dtype,
                      index.head_size, "no kernel: an index of %s, head_size %d, with q_dtype %s",
                      name(static_cast<Dtype>(index.dtype)), index.head_size,
                      name(static_cast<Dtype>(a.q_dtype)));
  }
  if (index.init_blocks < 0 || index.local_blocks < 0) {
    return error->set(Status::kInvalidArgument, Code::kValueOutOfRange, -1, index.init_blocks,
                      index.local_blocks,
                      "index: init_blocks is %d and local_blocks %d, neither can be negative",
                      index.init_blocks, index.local_blocks);
  }
  if (!std::isfinite(index.k_scale) || index.k_scale <= 0) {
    return error->set(Status::kInvalidArgument, Code::kValueOutOfRange, -1, 0, 0,
                      "index: k_scale is %g, it has to be positive and finite",
                      static_cast<double>(index.k_scale));
  }
  return check_pointer(error, "index.k", index.k, 16);
}

// Those that are always taken have to fit in.
Status check_forced_blocks(const attnplan_hip_index& index, int32_t top_k, Error* error) {
  const int64_t forced = int64_t{index.init_blocks} + index.local_blocks;
  if (forced <= top_k) return Status::kOk;
  return error->set(Status::kInvalidArgument, Code::kValueOutOfRange, -1, forced, top_k,
                    "index: init_blocks %d and local_blocks %d are more than top_k %d",
                    index.init_blocks, index.local_blocks, top_k);
}

Status check_table(const attnplan_hip_select_args& given, Error* error) {
  if ((given.sparse_table == nullptr) == (given.sparse_context == nullptr)) {
    const Status status =
        check_alignment(error, "sparse_table", given.sparse_table, alignof(int32_t));
    if (status != Status::kOk) return status;
    return check_alignment(error, "sparse_context", given.sparse_context, alignof(int32_t));
  }
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                    "sparse_table and sparse_context are wanted both or neither");
}

Status fill_query(const attnplan_hip_select_args& given, const attnplan_hip_attention& a,
                  int32_t head_size, AttentionArgs* args, Error* error) {
  Status status = check_pointer(error, "q", given.q, 16);
  if (status == Status::kOk) {
    status = read_stride(error, "q_head_stride", given.q_head_stride, head_size, head_size,
                         &args->q_head_stride);
  }
  if (status == Status::kOk) {
    status = read_stride(error, "q_row_stride", given.q_row_stride,
                         int64_t{a.num_kv_heads} * head_size, head_size, &args->q_row_stride);
  }
  if (status == Status::kOk) {
    status = check_overlap(error, "q_row_stride", args->q_row_stride, args->q_head_stride,
                           a.num_kv_heads, head_size);
  }
  args->q = static_cast<const uint16_t*>(given.q);
  return status;
}

// Few rows leave half of a wider tile empty.
int32_t tiles_of(const attnplan_segment& segment, const IndexCache& index) {
  const bool wide = segment.route != ATTNPLAN_ROUTE_DECODE &&
                    has_index(index.index.dtype, index.index.head_size, 2);
  return wide ? 2 : 1;
}

}  // namespace

Status read_index(const attnplan_hip_index* given, const Layer& layer, int32_t page_size,
                  IndexCache* cache, Error* error) {
  attnplan_hip_index copy;
  const attnplan_hip_index* read;
  const Status status = read_struct(given, &copy, &read, "attnplan_hip_index", error);
  if (status != Status::kOk) return status;
  attnplan_hip_index& index = cache->index = *read;
  if (index.dtype == 0) index.dtype = layer.view_dtype;
  if (index.head_size == 0) index.head_size = 128;
  if (index.local_blocks == 0) index.local_blocks = 1;
  if (index.k_scale == 0) index.k_scale = 1;
  const Status checked = check_index(index, layer.attention, error);
  if (checked != Status::kOk) return checked;

  const int64_t bytes = bytes_per_element(static_cast<Dtype>(index.dtype));
  const int64_t row = index.head_size * bytes;
  const int64_t block = layer.cache.block_size * row;
  const int64_t given_block = index.block_stride * bytes;
  if (given_block != 0 && (given_block < block || given_block % 16 != 0)) {
    return invalid(error, "index.block_stride", index.block_stride, block / bytes,
                   "blocks would overlap, or not begin at 16 bytes");
  }
  const int64_t pages = layer.cache.block_size / page_size;
  const bool packed = (layer.cache.flags & ATTNPLAN_KV_PACKED) != 0;
  CacheTensor& k = cache->k = {};
  k.data = static_cast<const uint8_t*>(index.k);
  k.token_stride = row;
  k.chunk_stride = 16;
  k.page_stride = page_size * row;
  k.block_stride = given_block != 0 ? given_block : block;
  cache->pages_per_stride = static_cast<int32_t>(packed ? 2 * pages : pages);
  if (cache->pages_per_stride * k.page_stride == k.block_stride) {
    cache->pages_per_stride = 1;
    k.block_stride = k.page_stride;
  }
  return Status::kOk;
}

Status select_workspace_bytes(const Layer& layer, const HostPlan& plan, int32_t max_seq_len,
                              int64_t* bytes, Error* error) {
  if (max_seq_len == 0) {
    for (int32_t i = 0; i < plan.header().num_segments; ++i) {
      const auto& segment = plan.host<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS)[i];
      max_seq_len = std::max(max_seq_len, segment.max_seq_len);
    }
  }
  *bytes = sizeof(float);
  bool too_many = false;
  for (const int32_t factor :
       {layer.attention.num_kv_heads, most_rows(plan), blocks_of(max_seq_len)}) {
    too_many = too_many || __builtin_mul_overflow(*bytes, int64_t{factor}, bytes);
  }
  if (!too_many) return Status::kOk;
  *bytes = 0;
  return error->set(Status::kInvalidArgument, Code::kValueOutOfRange, -1, max_seq_len, 0,
                    "no workspace can hold a score for each of %d KV heads, %d rows and %d blocks",
                    layer.attention.num_kv_heads, most_rows(plan), blocks_of(max_seq_len));
}

Status check_select(const attnplan_hip_select_args* given, SelectLaunch* launch, Error* error) {
  attnplan_hip_select_args copy;
  const attnplan_hip_select_args* args;
  Layer layer;
  HostPlan plan;
  IndexCache index;
  Status status = read_struct(given, &copy, &args, "attnplan_hip_select_args", error);
  if (status == Status::kOk) status = read_layer(args->attention, &layer, error);
  if (status != Status::kOk) return status;
  if ((args->flags & ~ATTNPLAN_HIP_VERIFY) != 0) return unknown_value(error, "flags", args->flags);
  if (args->reserved0 != 0) return unknown_value(error, "reserved0", args->reserved0);
  if (!layer.sparse()) return invalid(error, "attention.top_k", 0, 1, "there is nothing to select");
  M3IndexArgs& out = launch->args = {};
  const int32_t top_k = layer.attention.top_k;
  status = need_cache(layer, error);
  if (status == Status::kOk) status = check_supported(layer, error);
  if (status == Status::kOk) status = HostPlan::read(args->plan, &plan, error);
  if (status == Status::kOk) status = check_plan_layer(plan, layer, error);
  if (status == Status::kOk) status = fill_segment(plan, args->segment, layer, &out.index, error);
  if (status == Status::kOk) {
    status = read_index(args->index, layer, 1 << out.index.page_shift, &index, error);
  }
  if (status == Status::kOk) status = check_forced_blocks(index.index, top_k, error);
  if (status == Status::kOk) status = check_table(*args, error);
  if (status == Status::kOk) {
    status = fill_query(*args, layer.attention, index.index.head_size, &out.index, error);
  }
  if (status == Status::kOk) {
    status = check_pointer(error, "selected", args->selected, alignof(int32_t));
  }
  if (status == Status::kOk) status = fill_rows(plan, &out.row_request, &out.row_position, error);
  if (status == Status::kOk) status = fill_report(args->report, args->flags, &out.index, error);
  if (status != Status::kOk) return status;

  attnplan_segment segment;
  status = plan.segment(args->segment, &segment, error);
  if (status != Status::kOk) return status;
  if (args->max_seq_len < 0) {
    return invalid(error, "max_seq_len", args->max_seq_len, 0, "it cannot be negative");
  }
  const int32_t longest = args->max_seq_len != 0 ? args->max_seq_len : segment.max_seq_len;
  if (longest < segment.max_seq_len) {
    return invalid(error, "max_seq_len", longest, segment.max_seq_len, "the segment has more");
  }
  int64_t bytes = 0;
  status = select_workspace_bytes(layer, plan, longest, &bytes, error);
  if (status == Status::kOk) {
    status = check_workspace(args->workspace, args->workspace_bytes, bytes, error);
  }
  if (status != Status::kOk) return status;

  const attnplan_hip_attention& a = layer.attention;
  const int32_t rows = most_rows(plan);
  out.index.num_kv_heads = 1;
  out.index.group = a.num_kv_heads;
  out.index.k = index.k;
  out.index.pages_per_stride = index.pages_per_stride;
  out.index.q_is_bf16 = a.q_dtype == ATTNPLAN_DTYPE_BF16;
  out.index.causal = 1;
  out.index.scale_log2 = index.index.k_scale / std::sqrt(static_cast<float>(index.index.head_size));
  out.scores = static_cast<float*>(args->workspace);
  out.max_blocks = blocks_of(longest);
  out.scores_head_stride = int64_t{rows} * out.max_blocks;
  out.top_k = a.top_k;
  out.init_blocks = index.index.init_blocks;
  out.local_blocks = index.index.local_blocks;
  out.selected = args->selected;
  status = read_selected_stride(error, args->selected_head_stride, rows, a.top_k,
                                &out.selected_head_stride);
  if (status != Status::kOk) return status;
  out.sparse_table = args->sparse_table;
  out.sparse_context = args->sparse_context;
  launch->kernel = {index.index.dtype, index.index.head_size, 0, false, tiles_of(segment, index)};
  launch->rows = int64_t{rows} * a.num_kv_heads;
  launch->workers = grid_workers(plan);
  return Status::kOk;
}

}  // namespace attnplan::hip
