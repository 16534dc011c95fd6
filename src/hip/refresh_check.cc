#include "hip/refresh_check.h"

#include "hip/argument_checks.h"
#include "hip/host_plan.h"
#include "hip/layer.h"
#include "hip/plan_layer.h"
#include "planner/section_names.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

static_assert(ATTNPLAN_HIP_REFRESH_BAD_STARTS == int{kRefreshBadStarts} &&
              ATTNPLAN_HIP_REFRESH_ROW_COUNT == int{kRefreshRowCount} &&
              ATTNPLAN_HIP_REFRESH_BAD_SEQ_LEN == int{kRefreshBadSeqLen} &&
              ATTNPLAN_HIP_REFRESH_TOO_LONG == int{kRefreshTooLong} &&
              ATTNPLAN_HIP_REFRESH_CAPACITY == int{kRefreshCapacity} &&
              ATTNPLAN_HIP_REFRESH_CHUNKS == int{kRefreshChunks} &&
              ATTNPLAN_HIP_REFRESH_OTHER_PLAN == int{kRefreshOtherPlan});

constexpr struct {
  uint32_t given;
  uint32_t kernel;
} kFlags[] = {{ATTNPLAN_HIP_REFRESH_ROWS_INT64, kRefreshRowsInt64},
              {ATTNPLAN_HIP_REFRESH_SLOTS_INT64, kRefreshSlotsInt64},
              {ATTNPLAN_HIP_REFRESH_DRAFT, kRefreshMayCut},
              {ATTNPLAN_HIP_REFRESH_FULL_WIDTH_PADS, kRefreshFullWidthPads}};

Status fill_flags(const attnplan_hip_refresh_args& given, const Layer& layer, RefreshArgs* args,
                  Error* error) {
  uint32_t left = given.flags;
  for (const auto& flag : kFlags) {
    if ((given.flags & flag.given) != 0) args->flags |= flag.kernel;
    left &= ~flag.given;
  }
  if (left != 0) return unknown_value(error, "flags", given.flags);
  if (layer.attention.mask == ATTNPLAN_MASK_CAUSAL) args->flags |= kRefreshCausal;
  const bool packed = layer.has_cache() && (layer.cache.flags & ATTNPLAN_KV_PACKED) != 0;
  if (packed) args->flags |= kRefreshPacked;
  return Status::kOk;
}

Status check_tensors(const attnplan_hip_refresh_args& given, Error* error) {
  const bool wide_rows = (given.flags & ATTNPLAN_HIP_REFRESH_ROWS_INT64) != 0;
  const bool wide_slots = (given.flags & ATTNPLAN_HIP_REFRESH_SLOTS_INT64) != 0;
  const struct {
    const char* name;
    const void* pointer;
    uintptr_t alignment;
  } tensors[] = {{"block_ids", given.block_ids, 4},
                 {"block_indptr", given.block_indptr, 4},
                 {"token_slots", given.token_slots, 4},
                 {"table_rows", given.table_rows, wide_rows ? 8u : 4u},
                 {"slot_mapping", given.slot_mapping, wide_slots ? 8u : 4u},
                 {"report", given.report, 4}};
  for (const auto& t : tensors) {
    const Status status = check_alignment(error, t.name, t.pointer, t.alignment);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

// What is asked for has to be there, and what is made from a table needs one.
Status check_sections(const attnplan_hip_refresh_args& given, const HostPlan& plan, Error* error) {
  if (given.sections >> ATTNPLAN_SECTION_END != 0 || (given.sections & 1u) != 0) {
    return invalid(error, "sections", static_cast<int64_t>(given.sections), ATTNPLAN_SECTION_END,
                   "it has bits of no section");
  }
  const bool table = given.block_ids != nullptr || given.token_slots != nullptr;
  for (int32_t id = 1; id < ATTNPLAN_SECTION_END; ++id) {
    if ((given.sections >> id & 1u) == 0) continue;
    if (plan.find(id) == nullptr) {
      return error->set(Status::kInvalidArgument, Code::kNone, -1, id, 0,
                        "sections has the bit of section %s, which the plan lacks",
                        section_name(id));
    }
    const bool pages = id == ATTNPLAN_SECTION_PAGE_INDICES || id == ATTNPLAN_SECTION_PAGE_TABLE;
    if (pages && !table) {
      return error->set(Status::kInvalidArgument, Code::kNone, -1, id, 0,
                        "sections has the bit of section %s, which needs block_ids or token_slots",
                        section_name(id));
    }
  }
  return Status::kOk;
}

Status fill_table(const attnplan_hip_refresh_args& given, RefreshArgs* args, Error* error) {
  if (given.block_ids != nullptr && given.token_slots != nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "block_ids and token_slots are given both");
  }
  if (given.block_indptr != nullptr && given.block_ids == nullptr) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0,
                      "block_indptr is given without block_ids");
  }
  args->ids = given.block_ids != nullptr ? given.block_ids : given.token_slots;
  args->indptr = given.block_indptr;
  args->table = given.token_slots != nullptr    ? TableKind::kTokens
                : given.block_indptr != nullptr ? TableKind::kCsr
                : given.block_ids != nullptr    ? TableKind::kBlocks
                                                : TableKind::kNone;
  args->table_rows = given.table_rows;
  args->slot_mapping = given.slot_mapping;
  args->columns = given.columns;
  args->stride = given.row_stride != 0 ? given.row_stride : given.columns;
  const bool rows = args->table == TableKind::kBlocks || args->table == TableKind::kTokens;
  if (rows && (given.columns < 1 || args->stride < given.columns)) {
    return invalid(error, "columns", given.columns, args->stride,
                   "it has to be positive and no more than row_stride");
  }
  return Status::kOk;
}

Status fill_numbers(const attnplan_hip_refresh_args& given, const Layer& layer, RefreshArgs* args,
                    Error* error) {
  const struct {
    const char* name;
    int32_t value;
    int32_t* to;
  } numbers[] = {{"num_reqs", given.num_reqs, &args->num_reqs},
                 {"max_model_len", given.max_model_len, &args->max_model_len},
                 {"local_attention_chunk", given.local_attention_chunk, &args->local_chunk},
                 {"context_parallel_world", given.context_parallel_world, &args->context_world},
                 {"context_parallel_rank", given.context_parallel_rank, &args->context_rank},
                 {"context_parallel_interleave", given.context_parallel_interleave,
                  &args->context_interleave}};
  for (const auto& number : numbers) {
    const Status status = check_negative(error, number.name, number.value);
    if (status != Status::kOk) return status;
    *number.to = number.value;
  }
  if (args->context_world > 0 && args->context_interleave == 0) args->context_interleave = 1;
  if (args->context_rank > 0 && args->context_rank >= args->context_world) {
    return invalid(error, "context_parallel_rank", args->context_rank, args->context_world,
                   "there are not so many");
  }
  args->sections = given.sections;
  args->sliding_window = layer.attention.sliding_window;
  args->group = layer.group();
  if (!layer.has_cache()) return Status::kOk;
  args->block_size = layer.block_size;
  args->page_size = layer.page_size;
  args->pages_per_block = static_cast<int32_t>(layer.pages_per_block);
  args->block_page_stride = static_cast<int32_t>(layer.block_page_stride);
  return Status::kOk;
}

// Room for pages, by which the grid is sized.
int64_t pages_of(const HostPlan& plan) {
  int64_t pages = 0;
  for (const int32_t id : {ATTNPLAN_SECTION_PAGE_INDICES, ATTNPLAN_SECTION_PAGE_TABLE}) {
    if (plan.find(id) != nullptr) pages += plan.find(id)->capacity;
  }
  return pages;
}

}  // namespace

Status check_refresh(const attnplan_hip_refresh_args* given, RefreshLaunch* launch, Error* error) {
  attnplan_hip_refresh_args copy;
  const attnplan_hip_refresh_args* args;
  Layer layer;
  HostPlan plan;
  *launch = {};
  RefreshArgs& out = launch->args;
  Status status = read_struct(given, &copy, &args, "attnplan_hip_refresh_args", error);
  if (status == Status::kOk) status = read_layer(args->attention, &layer, error);
  if (status == Status::kOk) status = HostPlan::read(args->plan, &plan, error);
  if (status == Status::kOk) status = check_plan_layer(plan, layer, error);
  if (status == Status::kOk) {
    status = check_pointer(error, "query_start_loc", args->query_start_loc, alignof(int32_t));
  }
  if (status == Status::kOk) {
    status = check_pointer(error, "seq_lens", args->seq_lens, alignof(int32_t));
  }
  if (status == Status::kOk) status = check_tensors(*args, error);
  if (status == Status::kOk) status = check_sections(*args, plan, error);
  if (status == Status::kOk && args->num_reqs > 0 && args->num_reqs != plan.header().num_reqs) {
    status = invalid(error, "num_reqs", args->num_reqs, plan.header().num_reqs,
                     "the plan is of another number of requests");
  }
  if (status == Status::kOk) status = fill_flags(*args, layer, &out, error);
  if (status == Status::kOk) status = fill_table(*args, &out, error);
  if (status == Status::kOk) status = fill_numbers(*args, layer, &out, error);
  if (status != Status::kOk) return status;
  out.plan = plan.device_plan();
  out.query_start_loc = args->query_start_loc;
  out.seq_lens = args->seq_lens;
  if (args->report != nullptr) out.status = &args->report->refresh;
  launch->blocks = refresh_blocks(pages_of(plan));
  return Status::kOk;
}

Status check_advance(const int32_t* query_start_loc, int32_t* seq_lens, int32_t num_reqs,
                     int32_t max_model_len, AdvanceArgs* args, Error* error) {
  Status status = check_pointer(error, "seq_lens", seq_lens, alignof(int32_t));
  if (status == Status::kOk) {
    status = check_alignment(error, "query_start_loc", query_start_loc, alignof(int32_t));
  }
  if (status == Status::kOk) status = check_negative(error, "num_reqs", num_reqs);
  if (status == Status::kOk) status = check_negative(error, "max_model_len", max_model_len);
  if (status != Status::kOk) return status;
  *args = {query_start_loc, seq_lens, num_reqs, max_model_len};
  return Status::kOk;
}

}  // namespace attnplan::hip
