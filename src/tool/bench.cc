#include "tool/bench.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <stdexcept>
#include <vector>

#include "tool/bench_inputs.h"
#include "tool/bench_instructions.h"
#include "tool/bench_report.h"
#include "tool/bench_timing.h"
#include "tool/bench_workloads.h"

namespace attnplan::tool {
namespace {

// One input with everything that is timed on it. Stays where it is: workloads point into it.
struct Case {
  explicit Case(BenchInput made)
      : input(std::move(made)), plan(input), copy(input), fill(plan.max_plan_bytes()) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  BenchInput input;
  PlanWorkload plan;
  CopyWorkload copy;
  FillWorkload fill;
};

std::vector<std::string> chosen_names(const BenchOptions& options) {
  std::vector<std::string> names = bench_input_names(options.data);
  std::erase_if(names, [&](const std::string& name) {
    return name.find(options.filter) == std::string::npos;
  });
  if (names.empty()) throw std::runtime_error("no benchmark matches " + options.filter);
  return names;
}

// A line that overwrites itself on a terminal; nothing elsewhere.
class Progress {
 public:
  void show(const char* what, int64_t done, int64_t total) const {
    if (!terminal_) return;
    std::fprintf(stderr, "\r%s %3lld%%", what,
                 static_cast<long long>(std::min(done, total) * 100 / std::max<int64_t>(total, 1)));
  }
  void clear() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

std::vector<BenchFigures> measure(const std::vector<std::string>& names,
                                  const BenchOptions& options, const Progress& progress) {
  std::deque<Case> cases;
  std::vector<NamedWorkload> workloads;
  for (const std::string& name : names) {
    Case& one = cases.emplace_back(bench_input(name, options.data));
    workloads.push_back({name + "/plan", &one.plan});
    workloads.push_back({name + "/memcpy", &one.copy});
    workloads.push_back({name + "/memset", &one.fill});
  }
  TimingOptions timing;
  timing.progress = [&](int64_t done, int64_t total) { progress.show("timing", done, total); };
  if (options.quick) timing.repetitions = 5, timing.seconds = 0.004;
  const std::vector<Timing> timings = time_workloads(workloads, timing);

  std::vector<BenchFigures> figures;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    figures.push_back({one.input.name, one.input.mean_requests(), one.input.mean_rows(),
                       one.input.mean_bytes(), one.plan.max_plan_bytes(), timings[3 * i],
                       timings[3 * i + 1], timings[3 * i + 2], std::nullopt});
  }
  return figures;
}

void count_instructions(std::vector<BenchFigures>& figures, const BenchOptions& options,
                        const Progress& progress) {
  if (!can_count_instructions()) throw std::runtime_error("--instructions needs valgrind");
  for (size_t i = 0; i < figures.size(); ++i) {
    progress.show("counting", static_cast<int64_t>(i), static_cast<int64_t>(figures.size()));
    figures[i].instructions = instructions_per_plan(figures[i].name, options.data);
  }
}

}  // namespace

int bench(const BenchOptions& options) try {
  if (!options.fixed_work.empty()) {
    run_fixed_work(options.fixed_work, options.data, options.plans);
    return 0;
  }
  const Progress progress;
  std::vector<BenchFigures> figures = measure(chosen_names(options), options, progress);
  if (options.instructions) count_instructions(figures, options, progress);
  progress.clear();
  std::fputs(bench_table(figures).c_str(), stdout);
  std::fputs(bench_groups_note(figures).c_str(), stdout);
  if (!options.json.empty()) write_bench_json(figures, options.json);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "attnplan bench: %s\n", error.what());
  return 2;
}

}  // namespace attnplan::tool
