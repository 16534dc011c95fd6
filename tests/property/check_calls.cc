// The planner as a library: what it does with buffers, scratches and arrays that are not its own.
#include <algorithm>

#include "facts.h"

namespace attnplan::property {
namespace {

using oracle::Batch;
using oracle::BatchStructs;

std::string check_repetition(const BatchStructs& structs, const attnplan_planner* planner,
                             attnplan_scratch* scratch, const Buffer& plan) {
  Error error;
  const Scratch fresh = create_scratch();
  if (!(build(planner, scratch, structs.step(), structs.group(), &error) == plan)) {
    return "planning twice gives other bytes";
  }
  if (!(build(planner, fresh.get(), structs.step(), structs.group(), &error) == plan)) {
    return "another scratch gives other bytes";
  }
  return "";
}

std::string check_small_buffer(const BatchStructs& structs, const attnplan_planner* planner,
                               attnplan_scratch* scratch, const Buffer& plan) {
  Buffer small(plan.size() - 1);
  size_t bytes = 77;
  Error error;
  const attnplan_status status =
      attnplan_plan_build(planner, scratch, &structs.step(), structs.group(), small.data(),
                          small.size(), &bytes, error.get());
  if (status != ATTNPLAN_BUFFER_TOO_SMALL || error.raw().status != status) {
    return "one byte less is not BUFFER_TOO_SMALL";
  }
  if (error.raw().value != static_cast<int64_t>(plan.size()) ||
      error.raw().limit != static_cast<int64_t>(small.size())) {
    return "BUFFER_TOO_SMALL does not say what it takes";
  }
  if (!small.untouched() || bytes != 77) return "a buffer that is too small was written";
  return "";
}

std::string check_large_buffer(const BatchStructs& structs, const attnplan_planner* planner,
                               attnplan_scratch* scratch, const Buffer& plan) {
  Buffer large(plan.size() + 64);
  size_t bytes = 0;
  attnplan_plan_build(planner, scratch, &structs.step(), structs.group(), large.data(),
                      large.size(), &bytes, nullptr);
  if (bytes != plan.size() || std::memcmp(large.data(), plan.data(), bytes) != 0) {
    return "a larger buffer gives other bytes";
  }
  const bool clean = std::all_of(large.data() + bytes, large.data() + large.size(),
                                 [](uint8_t byte) { return byte == Buffer::kFill; });
  return clean ? "" : "bytes behind the plan were written";
}

std::string check_failure(const BatchStructs& structs, const attnplan_planner* planner,
                          attnplan_scratch* scratch) {
  Buffer buffer(4096);
  size_t bytes = 77;
  const attnplan_status status =
      attnplan_plan_build(planner, scratch, &structs.step(), structs.group(), buffer.data(),
                          buffer.size(), &bytes, nullptr);
  if (status == ATTNPLAN_OK) return "plan_build succeeds where plan_size does not";
  return buffer.untouched() && bytes == 77 ? "" : "outputs were touched on failure";
}

}  // namespace

std::string check_calls(const Batch& batch, const BatchStructs& structs,
                        const attnplan_planner* planner, attnplan_scratch* scratch,
                        const Buffer& plan) {
  const Batch before = batch;
  std::string broken;
  if (plan.size() == 0) {
    broken = check_failure(structs, planner, scratch);
  } else {
    broken = check_repetition(structs, planner, scratch, plan);
    if (broken.empty()) broken = check_small_buffer(structs, planner, scratch, plan);
    if (broken.empty()) broken = check_large_buffer(structs, planner, scratch, plan);
  }
  const auto same = [](const Batch& a, const Batch& b) {
    const bool lengths = a.query == b.query && a.seq_lens == b.seq_lens &&
                         a.num_computed_tokens == b.num_computed_tokens &&
                         a.num_prompt_tokens == b.num_prompt_tokens;
    const bool state = a.num_known_tokens == b.num_known_tokens &&
                       a.num_draft_tokens == b.num_draft_tokens &&
                       a.is_prefilling == b.is_prefilling && a.seq_len_exact == b.seq_len_exact;
    return lengths && state &&
           (!a.table || (a.table->ids == b.table->ids && a.table->indptr == b.table->indptr));
  };
  return broken.empty() && !same(before, batch) ? "an input array was written" : broken;
}

}  // namespace attnplan::property
