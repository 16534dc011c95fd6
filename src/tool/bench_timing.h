// Times workloads with Google Benchmark, all repetitions of all of them in random order, so that
// what else happens on the machine hits all alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tool/bench_workloads.h"

namespace attnplan::tool {

struct Timing {
  double median_ns = 0;  // of one call
  double p99_ns = 0;
  int64_t samples = 0;  // short runs of calls, each timed on its own
};

struct TimingOptions {
  int repetitions = 20;
  double seconds = 0.02;  // a repetition
  // Told before each repetition how many of all are done.
  std::function<void(int64_t done, int64_t total)> progress;
};

struct NamedWorkload {
  std::string name;
  Workload* workload = nullptr;
};

// One timing a workload. To be called once in a process: Google Benchmark keeps its registry.
std::vector<Timing> time_workloads(const std::vector<NamedWorkload>& workloads,
                                   const TimingOptions& options);

}  // namespace attnplan::tool
