#include "tool/bench_workloads.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace attnplan::tool {

namespace {

constexpr int32_t kBlockSize = 128;
constexpr int32_t kPageSize = 16;

void check(const BenchInput& input, attnplan_status status, const attnplan_error& error) {
  if (status != ATTNPLAN_OK) throw std::runtime_error(input.name + ": " + error.message);
}

// Groups of one model differ in their kernels and windows, never in the step's threshold.
attnplan_config config_of(const BenchInput& input, int32_t group) {
  constexpr const char* kProfiles[] = {"aiter_mha", "minimax_m3_sparse", "unified", "aiter_fa"};
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = kProfiles[group % 4];
  config.decode_threshold = input.steps.front().decode_threshold;
  if (group / 4 % 2 == 1) config.sliding_window = 1024;
  if (input.ask == BenchAsk::kStreamK) config.work = ATTNPLAN_WORK_STREAM_K;
  if (input.ask == BenchAsk::kPageTable) {
    config.sections = uint64_t{1} << ATTNPLAN_SECTION_PAGE_TABLE;
  }
  return config;
}

}  // namespace

PlanWorkload::PlanWorkload(const BenchInput& input) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_scratch* scratch = nullptr;
  check(input, attnplan_scratch_create(nullptr, &scratch, &error), error);
  scratch_.reset(scratch);
  for (int32_t group = 0; group < input.groups; ++group) add_planner(input, group);
  for (const BenchStep& step : input.steps) {
    steps_.push_back(step.view());
    groups_.push_back(step.group());
  }
  size_buffers(input);
}

void PlanWorkload::add_planner(const BenchInput& input, int32_t group) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_config config = config_of(input, group);
  attnplan_kv_cache cache = ATTNPLAN_KV_CACHE_INIT;
  const BenchStep& step = input.steps.front();
  if (step.columns > 0) {
    cache.num_blocks = step.num_reqs() * step.columns;
    cache.block_size = kBlockSize;
    cache.page_size = kPageSize;
    config.kv_cache = &cache;
  }
  attnplan_planner* planner = nullptr;
  check(input, attnplan_planner_create(&config, &planner, &error), error);
  owned_.emplace_back(planner);
  planners_.push_back(planner);
}

void PlanWorkload::size_buffers(const BenchInput& input) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  for (const attnplan_planner* planner : planners_) {
    size_t most = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      size_t bytes = 0;
      check(input,
            attnplan_plan_size(planner, scratch_.get(), &steps_[i], &groups_[i], &bytes, &error),
            error);
      most = std::max(most, bytes);
    }
    Buffer& buffer = buffers_.emplace_back(most / sizeof(Line) + 1);
    outputs_.push_back(buffer.data());
    capacities_.push_back(buffer.size() * sizeof(Line));
    plan_bytes_ += most;
  }
  written_.resize(planners_.size());
}

void PlanWorkload::run(int64_t first, int64_t count) {
  const size_t num_steps = steps_.size();
  size_t at = static_cast<size_t>(first) % num_steps;
  for (int64_t i = 0; i < count; ++i) {
    const attnplan_status status =
        planners_.size() == 1
            ? attnplan_plan_build(planners_[0], scratch_.get(), &steps_[at], &groups_[at],
                                  outputs_[0], capacities_[0], written_.data(), nullptr)
            : attnplan_plan_build_many(planners_.data(), planners_.size(), scratch_.get(),
                                       &steps_[at], nullptr, outputs_.data(), capacities_.data(),
                                       written_.data(), nullptr, nullptr);
    if (status != ATTNPLAN_OK) throw std::runtime_error("a step that was planned now fails");
    if (++at == num_steps) at = 0;
  }
}

CopyWorkload::CopyWorkload(const BenchInput& input) : input_(input) {
  size_t bytes = 0;
  for (const BenchStep& step : input.steps) bytes = std::max(bytes, step.bytes());
  target_.resize(bytes);
}

void CopyWorkload::run(int64_t first, int64_t count) {
  const size_t num_steps = input_.steps.size();
  size_t at = static_cast<size_t>(first) % num_steps;
  const auto copy = [](unsigned char* to, const std::vector<int32_t>& from) {
    const size_t bytes = from.size() * sizeof(int32_t);
    if (bytes != 0) std::memcpy(to, from.data(), bytes);
    return to + bytes;
  };
  for (int64_t i = 0; i < count; ++i) {
    const BenchStep& step = input_.steps[at];
    unsigned char* to = copy(target_.data(), step.query_start_loc);
    to = copy(to, step.seq_lens);
    to = copy(to, step.num_computed_tokens);
    to = copy(to, step.num_prompt_tokens);
    to = copy(to, step.num_draft_tokens);
    copy(to, step.block_ids);
    benchmark::DoNotOptimize(target_.data());
    benchmark::ClobberMemory();
    if (++at == num_steps) at = 0;
  }
}

void FillWorkload::run(int64_t first, int64_t count) {
  for (int64_t i = first; i < first + count; ++i) {
    std::memset(target_.data(), static_cast<int>(i & 0xff), target_.size());
    benchmark::DoNotOptimize(target_.data());
    benchmark::ClobberMemory();
  }
}

}  // namespace attnplan::tool
