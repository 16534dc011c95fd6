#include "json/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>

#include "json/large_plan.h"

namespace attnplan::json {
namespace {

constexpr size_t kFirstPlanBytes = size_t{16} << 10;

// The buffer of a plan starts at the alignment that the library asks for.
std::span<std::byte> aligned(std::vector<std::byte>& storage, size_t bytes) {
  if (storage.size() < bytes + ATTNPLAN_PLAN_ALIGNMENT) {
    storage.resize(bytes + ATTNPLAN_PLAN_ALIGNMENT);
  }
  void* start = storage.data();
  size_t space = storage.size();
  std::align(ATTNPLAN_PLAN_ALIGNMENT, bytes, start, space);
  return {static_cast<std::byte*>(start), space};
}

Outcome outcome_of(const RangeFault& fault) {
  Outcome outcome;
  outcome.code = attnplan_code_name(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE);
  outcome.message = fault.message;
  outcome.request = fault.request;
  outcome.value = fault.value;
  outcome.limit = fault.limit;
  return outcome;
}

// The configuration with every scalar that may be out of range at its default. What is left is
// judged before any scalar: the cache, and the arrays of the step.
attnplan_config without_scalars(const attnplan_config& config) {
  attnplan_config bare = config;
  bare.decode_threshold = 0;
  bare.num_q_heads = bare.num_kv_heads = bare.head_size = bare.v_head_size = 0;
  bare.sliding_window = bare.num_workers = bare.max_segments = 0;
  bare.max_model_len = bare.max_num_seqs = bare.max_num_batched_tokens = 0;
  bare.max_sections_bytes = 0;
  bare.graph_full = bare.graph_piecewise = {nullptr, 0};
  bare.graph_width = bare.graph_max_num_seqs = 0;
  bare.sections = 0;
  bare.work = ATTNPLAN_WORK_NONE;
  bare.chunk_workspace_tokens = bare.work_fixed_tokens = bare.local_attention_chunk = 0;
  bare.context_parallel_world = bare.context_parallel_rank = bare.context_parallel_interleave = 0;
  return bare;
}

}  // namespace

Outcome outcome_of(const DocumentError& error) {
  Outcome outcome;
  outcome.code = attnplan_code_name(ATTNPLAN_CODE_BAD_DOCUMENT);
  outcome.message = error.message;
  outcome.value = error.value;
  outcome.limit = error.limit;
  return outcome;
}

Session::Session() = default;

Session::~Session() {
  attnplan_planner_destroy(planner_);
  attnplan_scratch_destroy(scratch_);
}

Outcome Session::failure(const attnplan_error& error, const BatchDocument& batch) const {
  Outcome outcome;
  outcome.planner = planner_;
  outcome.code = error.code != ATTNPLAN_CODE_NONE ? attnplan_code_name(error.code)
                                                  : attnplan_status_name(error.status);
  outcome.message = error.message;
  // The library calls it an argument, here it came from a document. What reading did not find is a
  // fixed layout without limits, or sections without what they are made from.
  if (error.status == ATTNPLAN_INVALID_ARGUMENT || error.status == ATTNPLAN_UNIMPLEMENTED) {
    outcome.code = attnplan_code_name(ATTNPLAN_CODE_BAD_DOCUMENT);
    outcome.message =
        (planner_ == nullptr ? batch.layout_origin() : batch.sections_origin()) + error.message;
  }
  outcome.request = error.request;
  outcome.value = error.value;
  outcome.limit = error.limit;
  int64_t block = 0;
  const bool page = error.code == ATTNPLAN_CODE_PAGE_OUT_OF_RANGE;
  const WideInt* wide = page ? batch.wide_id(error.request, error.value, &block) : nullptr;
  if (wide != nullptr) {
    outcome.value = wide->value;
    outcome.message = fmt::format("{}block {} of request {} has id {}, but the cache has {} blocks",
                                  wide->origin, block, error.request, wide->value, error.limit);
  }
  outcome.refusals = std::span(refusals_).first(
      std::min(refusals_.size(), static_cast<size_t>(error.num_refusals)));
  outcome.requests = std::span(requests_).first(
      std::min(requests_.size(), static_cast<size_t>(error.num_requests)));
  return outcome;
}

Outcome Session::too_large(int64_t bytes, const BatchDocument& batch) const {
  Outcome outcome;
  outcome.planner = planner_;
  outcome.code = attnplan_code_name(ATTNPLAN_CODE_CAPACITY_EXCEEDED);
  outcome.message = why_too_large(batch.config(), bytes);
  outcome.value = bytes;
  outcome.limit = kLargestPlanBytes;
  return outcome;
}

Outcome Session::attempt(const attnplan_config& config, const std::string& config_text,
                         const BatchDocument& batch) {
  if (planner_ == nullptr || config_text != config_text_) {
    attnplan_planner_destroy(planner_);
    planner_ = nullptr;
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    if (attnplan_planner_create(&config, &planner_, &error) != ATTNPLAN_OK)
      return failure(error, batch);
    config_text_ = config_text;
  }
  return build(batch);
}

Outcome Session::build(const BatchDocument& batch) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  refusals_.resize(static_cast<size_t>(attnplan_planner_num_kernels(planner_)));
  requests_.resize(static_cast<size_t>(batch.step().num_reqs));
  error.refusals = refusals_.data();
  error.refusals_capacity = static_cast<int32_t>(refusals_.size());
  error.requests = requests_.data();
  error.requests_capacity = static_cast<int32_t>(requests_.size());
  if (scratch_ == nullptr && attnplan_scratch_create(nullptr, &scratch_, &error) != ATTNPLAN_OK) {
    return failure(error, batch);
  }
  size_t bytes = 0;
  std::span<std::byte> buffer = aligned(storage_, kFirstPlanBytes);
  attnplan_status status = attnplan_plan_build(planner_, scratch_, &batch.step(), &batch.group(),
                                               buffer.data(), buffer.size(), &bytes, &error);
  if (status == ATTNPLAN_BUFFER_TOO_SMALL) {
    try {
      if (error.value > kLargestPlanBytes) return too_large(error.value, batch);
      buffer = aligned(storage_, static_cast<size_t>(error.value));
    } catch (const std::bad_alloc&) {  // one document's plan, not the end of all others
      return too_large(error.value, batch);
    }
    status = attnplan_plan_build(planner_, scratch_, &batch.step(), &batch.group(), buffer.data(),
                                 buffer.size(), &bytes, &error);
  }
  if (status != ATTNPLAN_OK) return failure(error, batch);
  Outcome outcome;
  outcome.planner = planner_;
  outcome.plan = buffer.first(bytes);
  return outcome;
}

// True where the cache, the offsets or a request up to `request` is at fault, whatever the scalars.
bool Session::fails_earlier(const BatchDocument& batch, int32_t request, Outcome* earlier) {
  *earlier = attempt(without_scalars(batch.config()), batch.config_text() + "\nbare", batch);
  if (earlier->planner == nullptr) return true;
  if (earlier->code == attnplan_code_name(ATTNPLAN_CODE_QUERY_START_LOC_INVALID)) return true;
  return earlier->code == attnplan_code_name(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE) &&
         earlier->request >= 0 && earlier->request < request;
}

// Checks run in the order cache, offsets, ranges of the requests, ranges of the scalars. Two kinds
// of faults would come too early: those that only a document can spell (an explicit zero, a number
// beyond int32), and the scalars that the library judges when a planner is created.
Outcome Session::plan(const BatchDocument& batch) {
  if (batch.cache_fault()) return outcome_of(*batch.cache_fault());
  Outcome outcome;
  if (batch.request_fault()) {
    if (fails_earlier(batch, batch.request_fault()->request, &outcome)) return outcome;
    return outcome_of(*batch.request_fault());
  }
  if (batch.scalar_fault()) {
    if (fails_earlier(batch, INT32_MAX, &outcome)) return outcome;
    return outcome_of(*batch.scalar_fault());
  }
  outcome = attempt(batch.config(), batch.config_text(), batch);
  const bool scalar = outcome.planner == nullptr &&
                      outcome.code == attnplan_code_name(ATTNPLAN_CODE_VALUE_OUT_OF_RANGE);
  Outcome earlier;
  if (scalar && fails_earlier(batch, INT32_MAX, &earlier)) return earlier;
  return outcome;
}

}  // namespace attnplan::json
