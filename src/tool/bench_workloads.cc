#include "tool/bench_workloads.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace attnplan::tool {

PlanWorkload::PlanWorkload(const BenchInput& input) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const auto check = [&](attnplan_status status) {
    if (status != ATTNPLAN_OK) throw std::runtime_error(input.name + ": " + error.message);
  };
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  config.profile = "aiter_mha";
  config.decode_threshold = input.steps.front().decode_threshold;
  attnplan_planner* planner = nullptr;
  check(attnplan_planner_create(&config, &planner, &error));
  planner_.reset(planner);
  attnplan_scratch* scratch = nullptr;
  check(attnplan_scratch_create(nullptr, &scratch, &error));
  scratch_.reset(scratch);
  for (const BenchStep& step : input.steps) {
    steps_.push_back(step.view());
    size_t bytes = 0;
    check(attnplan_plan_size(planner, scratch, &steps_.back(), nullptr, &bytes, &error));
    plan_bytes_ = std::max(plan_bytes_, bytes);
  }
  buffer_.resize(plan_bytes_ / sizeof(Line) + 1);
}

void PlanWorkload::run(int64_t first, int64_t count) {
  const auto num_steps = static_cast<int64_t>(steps_.size());
  int64_t at = first % num_steps;
  for (int64_t i = 0; i < count; ++i) {
    size_t bytes = 0;
    const attnplan_status status = attnplan_plan_build(
        planner_.get(), scratch_.get(), &steps_[static_cast<size_t>(at)], nullptr, buffer_.data(),
        buffer_.size() * sizeof(Line), &bytes, nullptr);
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
    copy(to, step.num_draft_tokens);
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
