// attnplan_hip_bench: times the kernels on the GPU it finds. Results are checked before they are
// timed; a wrong one ends the program with 1. docs/performance.md has the method.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "bench/attention_case.h"
#include "bench/index_case.h"

namespace attnplan::hip::bench {
namespace {

constexpr double kTolerance = 2e-2;

struct Options {
  const char* json = nullptr;
  const char* filter = "";
  Choices choices;
  bool best = true;  // of stream_k and equal_chunks
  int repetitions = 31;
  bool bf16 = true;
  bool fp8 = true;
  bool help = false;
  bool bad = false;
};

const char* const kUsage =
    "usage: attnplan_hip_bench [options]\n"
    "  --json FILE           write what was measured\n"
    "  --filter TEXT         only workloads with TEXT in their name\n"
    "  --cache bf16|fp8      one of the two caches\n"
    "  --page-size N         tokens of a page\n"
    "  --work POLICY         best (of the last two), auto, stream_k, equal_chunks\n"
    "  --repetitions N       times are medians of so many\n";

bool read_work(const std::string& text, Options* options) {
  const struct {
    const char* name;
    int32_t work;
  } policies[] = {{"auto", ATTNPLAN_WORK_AUTO},
                  {"stream_k", ATTNPLAN_WORK_STREAM_K},
                  {"equal_chunks", ATTNPLAN_WORK_EQUAL_CHUNKS}};
  options->best = text == "best";
  for (const auto& policy : policies) {
    if (text != policy.name) continue;
    options->choices.work = policy.work;
    return true;
  }
  return options->best;
}

bool read_option(const std::string& name, const char* value, Options* options) {
  const std::string text = value;
  if (name == "--json") {
    options->json = value;
  } else if (name == "--filter") {
    options->filter = value;
  } else if (name == "--cache" && (text == "bf16" || text == "fp8")) {
    options->bf16 = text == "bf16";
    options->fp8 = text == "fp8";
  } else if (name == "--page-size") {
    options->choices.page_size = std::atoi(value);
  } else if (name == "--repetitions" && std::atoi(value) > 0) {
    options->repetitions = std::atoi(value);
  } else if (name == "--work") {
    return read_work(text, options);
  } else {
    return false;
  }
  return true;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (std::strcmp(argv[i], "--help") == 0) {
      options.help = true;
      return options;
    }
    if (i + 1 == argc || !read_option(argv[i], argv[i + 1], &options)) {
      std::fprintf(stderr, "attnplan_hip_bench: \"%s\"?\n%s", argv[i], kUsage);
      options.bad = true;
      return options;
    }
  }
  return options;
}

// The faster of the two policies where the choice is left to us.
Measurement measure(Gpu& gpu, const Workload& workload, Choices choices,
                    const attnplan_hip_device_info& device, const Options& options) {
  if (workload.kind == Kind::kM3Index) {
    return measure_index(gpu, workload, choices, device, options.repetitions);
  }
  if (!options.best || workload.kind == Kind::kM3Sparse) {
    return measure_attention(gpu, workload, choices, device, options.repetitions);
  }
  choices.work = ATTNPLAN_WORK_STREAM_K;
  Measurement shares = measure_attention(gpu, workload, choices, device, options.repetitions);
  choices.work = ATTNPLAN_WORK_EQUAL_CHUNKS;
  Measurement chunks = measure_attention(gpu, workload, choices, device, options.repetitions);
  Measurement best = shares.median_us < chunks.median_us ? shares : chunks;
  best.error = std::max(shares.error, chunks.error);
  return best;
}

bool run_row(Gpu& gpu, const Workload& workload, const Choices& choices,
             const attnplan_hip_device_info& device, const Options& options, Report* report) {
  report->rows.push_back(measure(gpu, workload, choices, device, options));
  const Measurement& m = report->rows.back();
  std::fprintf(stderr, "%s, %s: %.1f us\n", workload.name, m.cache.c_str(), m.median_us);
  if (m.error <= kTolerance) return true;
  std::fprintf(stderr, "%s, %s: wrong by %g\n", workload.name, m.cache.c_str(), m.error);
  return false;
}

int run(const Options& options) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  attnplan_hip_device_info device = ATTNPLAN_HIP_DEVICE_INFO_INIT;
  check(attnplan_hip_device(0, &device, &error), error, "device");
  Gpu gpu;
  Report report;
  report.device = device.name;
  report.arch = device.arch;
  report.copy_bytes_per_second = gpu.copy_bandwidth();
  report.empty_us = gpu.time(options.repetitions, [&] { gpu.nothing(); }).median_us;
  bool right = true;
  for (const bool fp8 : {false, true}) {
    if (fp8 ? !options.fp8 : !options.bf16) continue;
    for (const Workload& workload : kWorkloads) {
      if (std::strstr(workload.name, options.filter) == nullptr) continue;
      Choices choices = options.choices;
      choices.fp8 = fp8;
      right = run_row(gpu, workload, choices, device, options, &report) && right;
    }
  }
  print(report);
  if (options.json != nullptr && !write_json(report, options.json)) {
    std::fprintf(stderr, "attnplan_hip_bench: cannot write %s\n", options.json);
    return 1;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace attnplan::hip::bench

int main(int argc, char** argv) {
  using namespace attnplan::hip::bench;
  const Options options = read_options(argc, argv);
  if (options.bad) return 2;
  if (options.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    return run(options);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "attnplan_hip_bench: %s\n", problem.what());
    return 1;
  }
}
