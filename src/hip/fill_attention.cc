// The part of AttentionArgs that does not depend on how rows are shared out.
#include <bit>
#include <cstdint>

#include "attnplan/kv_cache.h"
#include "hip/argument_checks.h"
#include "hip/launch_check.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

Status fill_tensors(const attnplan_hip_launch_args& given, const attnplan_hip_attention& a,
                    AttentionArgs* args, Error* error) {
  Status status = check_pointer(error, "q", given.q, 16);
  if (status == Status::kOk) status = check_pointer(error, "out", given.out, 16);
  if (status == Status::kOk && given.lse != nullptr) {
    status = check_pointer(error, "lse", given.lse, alignof(float));
  }
  const struct {
    const char* name;
    int64_t given, dense, least;
    int64_t* stride;
  } strides[] = {
      {"q_head_stride", given.q_head_stride, a.head_size, a.head_size, &args->q_head_stride},
      {"q_row_stride", given.q_row_stride, int64_t{a.num_q_heads} * a.head_size, a.head_size,
       &args->q_row_stride},
      {"out_head_stride", given.out_head_stride, a.v_head_size, a.v_head_size,
       &args->out_head_stride},
      {"out_row_stride", given.out_row_stride, int64_t{a.num_q_heads} * a.v_head_size,
       a.v_head_size, &args->out_row_stride}};
  for (const auto& s : strides) {
    if (status == Status::kOk) {
      status = read_stride(error, s.name, s.given, s.dense, s.least, s.stride);
    }
  }
  if (status == Status::kOk) {
    status = check_overlap(error, "q_row_stride", args->q_row_stride, args->q_head_stride,
                           a.num_q_heads, a.head_size);
  }
  if (status == Status::kOk) {
    status = check_overlap(error, "out_row_stride", args->out_row_stride, args->out_head_stride,
                           a.num_q_heads, a.v_head_size);
  }
  args->lse_row_stride = given.lse_row_stride != 0 ? given.lse_row_stride : a.num_q_heads;
  if (status == Status::kOk && args->lse_row_stride < a.num_q_heads) {
    status =
        invalid(error, "lse_row_stride", given.lse_row_stride, a.num_q_heads, "rows would overlap");
  }
  args->q = static_cast<const uint16_t*>(given.q);
  args->out = static_cast<uint16_t*>(given.out);
  args->lse = given.lse;
  return status;
}

Status fill_token_scales(const attnplan_hip_token_scales& given, const char* what,
                         const Layer& layer, int32_t page_size, int32_t pages_per_stride,
                         ScaleTensor* scales, Error* error) {
  *scales = {};
  if (layer.cache.scale != ATTNPLAN_SCALE_TOKEN_HEAD) {
    if (given.data == nullptr) return Status::kOk;
    return error->set(Status::kInvalidArgument, Code::kNone, -1, layer.cache.scale,
                      ATTNPLAN_SCALE_TOKEN_HEAD,
                      "%s is given, but kv_cache.scale is not token_head", what);
  }
  const Status status = check_pointer(error, what, given.data, alignof(float));
  if (status != Status::kOk) return status;
  const bool dense = given.page_stride == 0 && given.head_stride == 0 && given.token_stride == 0;
  if (!dense && given.token_stride == 0) {
    return invalid(error, what, 0, 0, "with a token_stride of 0 and other strides");
  }
  scales->data = given.data;
  scales->token_stride = dense ? 1 : given.token_stride;
  scales->head_stride = dense ? page_size : given.head_stride;
  scales->page_stride =
      dense ? int64_t{layer.attention.num_kv_heads} * page_size : given.page_stride;
  scales->block_stride = pages_per_stride * scales->page_stride;
  return Status::kOk;
}

void fill_numbers(const Layer& layer, AttentionArgs* args) {
  const attnplan_hip_attention& a = layer.attention;
  args->num_kv_heads = a.num_kv_heads;
  args->group = layer.group();
  args->q_is_bf16 = a.q_dtype == ATTNPLAN_DTYPE_BF16;
  args->causal = a.mask == ATTNPLAN_MASK_CAUSAL;
  args->sliding_window = a.sliding_window;
  args->scale_log2 = a.softmax_scale * a.k_scale * (a.soft_cap > 0 ? 1.0f / a.soft_cap : kLog2E);
  args->soft_cap_log2 = a.soft_cap * kLog2E;
  args->v_scale = a.v_scale;
}

Status fill_lengths(const HostPlan& plan, int32_t segment, AttentionArgs* args, Error* error) {
  const struct {
    int32_t id;
    const int32_t** pointer;
  } sections[] = {{ATTNPLAN_SECTION_QUERY_START_LOC, &args->query_start_loc},
                  {ATTNPLAN_SECTION_SEQ_LENS, &args->seq_lens},
                  {ATTNPLAN_SECTION_CONTEXT_LENS, &args->context_lens}};
  for (const auto& s : sections) {
    const Status status = plan.need(s.id, error);
    if (status != Status::kOk) return status;
    *s.pointer = plan.device<int32_t>(s.id);
  }
  args->header = static_cast<const attnplan_plan_header*>(plan.device_plan());
  args->segment_index = segment;
  // Without room for a segment, something that can be read instead: see has_segment.
  args->segment = plan.find(ATTNPLAN_SECTION_SEGMENTS)->capacity > segment
                      ? plan.device<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS) + segment
                      : static_cast<const attnplan_segment*>(plan.device_plan());
  return Status::kOk;
}

Status fill_pages(const HostPlan& plan, AttentionArgs* args, Error* error) {
  if (plan.find(ATTNPLAN_SECTION_PAGE_INDPTR) != nullptr &&
      plan.find(ATTNPLAN_SECTION_PAGE_INDICES) != nullptr) {
    args->page_indptr = plan.device<int32_t>(ATTNPLAN_SECTION_PAGE_INDPTR);
    args->page_indices = plan.device<int32_t>(ATTNPLAN_SECTION_PAGE_INDICES);
    return Status::kOk;
  }
  if (plan.find(ATTNPLAN_SECTION_PAGE_TABLE) != nullptr) {
    args->page_indices = plan.device<int32_t>(ATTNPLAN_SECTION_PAGE_TABLE);
    args->page_table_width = plan.header().page_table_width;
    return Status::kOk;
  }
  return error->set(
      Status::kPlanError, Code::kNone, -1, 0, 0,
      "plan: it has neither sections page_indptr and page_indices nor page_table, ask for "
      "them in attnplan_config.sections");
}

// The planner's cache was another one than the caller's.
Status check_segment_cache(const attnplan_segment& segment, const Layer& layer, Error* error) {
  if (segment.page_size == 0) {
    return error->set(Status::kPlanError, Code::kPageSizeMismatch, -1, 0, 0,
                      "plan: it was made without a kv_cache, so it has no pages");
  }
  const bool labelled = segment.label == layer.view_dtype || segment.label == layer.storage_dtype;
  if (labelled) return Status::kOk;
  return error->set(Status::kPlanError, Code::kDtypeMismatch, -1, segment.label, layer.view_dtype,
                    "plan: the segment's cache label is %s, the cache is viewed as %s",
                    name(static_cast<Dtype>(segment.label)),
                    name(static_cast<Dtype>(layer.view_dtype)));
}

}  // namespace

Status fill_cache(const attnplan_hip_kv* given, const Layer& layer, int32_t page_size,
                  AttentionArgs* args, Error* error) {
  attnplan_hip_kv copy;
  const attnplan_hip_kv* kv;
  CacheStrides strides;
  Status status = read_struct(given, &copy, &kv, "attnplan_hip_kv", error);
  if (status == Status::kOk) status = check_pointer(error, "kv.k", kv->k, 16);
  if (status == Status::kOk && kv->v != nullptr) status = check_pointer(error, "kv.v", kv->v, 16);
  if (status == Status::kOk) status = layer_strides(layer, page_size, &strides, error);
  if (status != Status::kOk) return status;
  args->k = strides.k;
  args->v = strides.v;
  args->k.data = static_cast<const uint8_t*>(kv->k);
  args->v.data =
      kv->v != nullptr ? static_cast<const uint8_t*>(kv->v) : args->k.data + strides.v_base;
  args->pages_per_stride = strides.pages_per_stride;
  status = fill_token_scales(kv->k_scales, "kv.k_scales", layer, page_size,
                             strides.pages_per_stride, &args->k_scales, error);
  if (status != Status::kOk) return status;
  return fill_token_scales(kv->v_scales, "kv.v_scales", layer, page_size, strides.pages_per_stride,
                           &args->v_scales, error);
}

Status fill_segment(const HostPlan& plan, int32_t index, const Layer& layer, AttentionArgs* args,
                    Error* error) {
  attnplan_segment segment;
  Status status = plan.segment(index, &segment, error);
  if (status == Status::kOk && plan.no_segments()) {
    segment.page_size = kernel_page_size(layer);
    segment.label = layer.view_dtype;
  }
  if (status == Status::kOk) status = check_segment_cache(segment, layer, error);
  if (status == Status::kOk) status = check_page_size(layer, segment.page_size, error);
  if (status == Status::kOk) status = fill_lengths(plan, index, args, error);
  if (status == Status::kOk) status = fill_pages(plan, args, error);
  if (status != Status::kOk) return status;
  args->page_shift = std::countr_zero(static_cast<uint32_t>(segment.page_size));
  args->num_pages = static_cast<int32_t>(layer.max_page_id + 1);
  return Status::kOk;
}

Status fill_rows(const HostPlan& plan, const int32_t** row_request, const int32_t** row_position,
                 Error* error) {
  Status status = plan.need(ATTNPLAN_SECTION_ROW_REQUEST, error);
  if (status == Status::kOk) status = plan.need(ATTNPLAN_SECTION_ROW_POSITION, error);
  if (status != Status::kOk) return status;
  *row_request = plan.device<int32_t>(ATTNPLAN_SECTION_ROW_REQUEST);
  *row_position = plan.device<int32_t>(ATTNPLAN_SECTION_ROW_POSITION);
  return Status::kOk;
}

Status fill_report(attnplan_hip_report* report, uint32_t flags, AttentionArgs* args, Error* error) {
  if ((flags & ATTNPLAN_HIP_VERIFY) == 0) return Status::kOk;
  const Status status = check_pointer(error, "report", report, alignof(int32_t));
  if (status == Status::kOk) args->bad_pages = &report->bad_pages;
  return status;
}

Status fill_attention(const attnplan_hip_launch_args& given, const Layer& layer,
                      const HostPlan& plan, AttentionArgs* args, Error* error) {
  *args = {};
  Status status = fill_segment(plan, given.segment, layer, args, error);
  if (status == Status::kOk) status = fill_tensors(given, layer.attention, args, error);
  if (status == Status::kOk) {
    status = fill_cache(given.kv, layer, 1 << args->page_shift, args, error);
  }
  if (status == Status::kOk) status = fill_report(given.report, given.flags, args, error);
  if (status == Status::kOk) fill_numbers(layer, args);
  return status;
}

}  // namespace attnplan::hip
