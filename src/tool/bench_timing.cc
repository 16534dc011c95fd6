#include "tool/bench_timing.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace attnplan::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSampleNs = 2000;  // long against the clock's own cost, short against a scheduler

double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double quantile(std::vector<float>& values, double q) {
  if (values.empty()) return 0;
  const auto rank = std::lround(q * static_cast<double>(values.size() - 1));
  const auto at = values.begin() + rank;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// What reading the clock twice adds to every sample.
double clock_ns() {
  std::vector<float> samples(1001);
  for (float& sample : samples) sample = static_cast<float>(since_ns(Clock::now()));
  return quantile(samples, 0.5);
}

// Calls per sample, from the fastest of a few doublings.
int64_t calls_per_sample(Workload& workload) {
  workload.run(0, 1);
  for (int64_t calls = 1;; calls *= 2) {
    double best = 1e18;
    for (int i = 0; i < 5; ++i) {
      const Clock::time_point start = Clock::now();
      workload.run(0, calls);
      best = std::min(best, since_ns(start));
    }
    if (best >= kSampleNs) return calls;
  }
}

// Samples of one workload over all its repetitions.
struct Series {
  Workload* workload = nullptr;
  int64_t calls = 1;
  double clock = 0;
  int64_t next = 0;
  std::vector<float> samples;  // nanoseconds a call

  void repeat(benchmark::State& state) {
    for (auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
      const Clock::time_point start = Clock::now();
      workload->run(next, calls);
      const double ns = std::max(0.0, since_ns(start) - clock);
      next += calls;
      samples.push_back(static_cast<float>(ns / static_cast<double>(calls)));
      state.SetIterationTime(ns * 1e-9);
    }
  }
};

// The samples are kept by the series themselves; only a failure has to be reported.
class Quiet : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) failed_ |= run.error_occurred;
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

void initialize_interleaved() {
  std::string name = "attnplan";
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  char* arguments[] = {name.data(), interleave.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, arguments);
}

}  // namespace

std::vector<Timing> time_workloads(const std::vector<NamedWorkload>& workloads,
                                   const TimingOptions& options) {
  initialize_interleaved();
  std::vector<Series> series(workloads.size());
  const double clock = clock_ns();
  const auto total = static_cast<int64_t>(workloads.size()) * options.repetitions;
  int64_t done = 0;
  for (size_t i = 0; i < workloads.size(); ++i) {
    Series& one = series[i];
    one.workload = workloads[i].workload;
    one.calls = calls_per_sample(*one.workload);
    one.clock = clock;
    benchmark::RegisterBenchmark(workloads[i].name.c_str(),
                                 [&one, &options, &done, total](benchmark::State& state) {
                                   if (options.progress) options.progress(done, total);
                                   one.repeat(state);
                                   ++done;
                                 })
        ->UseManualTime()
        ->Repetitions(options.repetitions)
        ->MinTime(options.seconds);
  }
  Quiet reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, "all");
  benchmark::ClearRegisteredBenchmarks();
  if (reporter.failed()) throw std::runtime_error("a benchmark failed");

  std::vector<Timing> timings;
  for (Series& one : series) {
    Timing timing;
    timing.samples = static_cast<int64_t>(one.samples.size());
    timing.median_ns = quantile(one.samples, 0.5);
    timing.p99_ns = quantile(one.samples, 0.99);
    timings.push_back(timing);
  }
  return timings;
}

}  // namespace attnplan::tool
