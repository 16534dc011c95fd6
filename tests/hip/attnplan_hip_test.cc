// The kernels on a GPU against the oracle on the CPU: prints a table of what was found, and on
// request JSON. Depends on nothing but the GPU's runtime, so that it can be carried to any machine.
#include "attnplan_hip.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "attnplan.h"
#include "hip/report.h"
#include "hip/trials.h"

namespace attnplan::hip_test {
namespace {

struct Options {
  Selection selection;
  std::string json;  // file
  bool list = false;
  bool verbose = false;
};

constexpr const char* kUsage =
    "usage: attnplan_hip_test [options]\n"
    "  --quick        a reduced matrix, for compute-sanitizer and the like\n"
    "  --seed N       draw other problems; a failure names the seed that repeats it\n"
    "  --filter TEXT  only problems with TEXT in their name, as bf16/d128/plain/ragged,\n"
    "                 m3/, refresh/plan, refresh/draft, kv_write/e4m3fn/token\n"
    "  --json FILE    write a report, to attach to a bug\n"
    "  --list         print the problems and run none\n"
    "  --verbose      print every problem before it runs\n";

// Exits with 2 where the options make no sense.
Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 < argc) return argv[++i];
      std::fprintf(stderr, "%s needs a value\n%s", name.c_str(), kUsage);
      std::exit(2);
    };
    if (name == "--quick") {
      options.selection.quick = true;
    } else if (name == "--seed") {
      options.selection.seed = std::strtoull(value(), nullptr, 10);
    } else if (name == "--filter") {
      options.selection.filter = value();
    } else if (name == "--json") {
      options.json = value();
    } else if (name == "--list") {
      options.list = true;
    } else if (name == "--verbose") {
      options.verbose = true;
    } else {
      std::fputs(kUsage, name == "--help" ? stdout : stderr);
      std::exit(name == "--help" ? 0 : 2);
    }
  }
  return options;
}

std::string again(const std::string& name, uint64_t seed, bool quick) {
  return std::string(quick ? "--quick " : "") + "--filter " + name + " --seed " +
         std::to_string(seed);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

int run(Options options) {
  attnplan_hip_device_info device = ATTNPLAN_HIP_DEVICE_INFO_INIT;
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  if (!options.list && attnplan_hip_device(0, &device, &error) != ATTNPLAN_OK) {
    std::fprintf(stderr, "no GPU to test: %s\n", error.message);
    return 3;
  }
  options.selection.num_workers = options.list ? 1 : device.num_workers;
  const std::vector<Trial> trials = select_trials(options.selection);
  if (options.list) {
    for (const Trial& trial : trials) std::puts(trial.words.c_str());
    return 0;
  }
  std::printf("%s (%s, %d compute units), %zu problems\n", device.name, device.arch,
              device.compute_units, trials.size());
  const auto start = std::chrono::steady_clock::now();
  Report report;
  for (const Trial& trial : trials) {
    if (options.verbose) std::puts(trial.words.c_str());
    std::fflush(stdout);
    report.add(trial.family, trial.solve(), trial.tolerance, trial.words,
               again(trial.name, trial.seed, options.selection.quick));
  }
  report.print_table();
  const double seconds = seconds_since(start);
  std::printf("%.1f seconds\n", seconds);
  const RunFacts facts = {device.name,
                          device.arch,
                          device.compute_units,
                          device.memory_bytes,
                          attnplan_version_string(),
                          attnplan_hip_abi_version(),
                          options.selection.seed,
                          options.selection.quick,
                          options.selection.filter};
  if (!options.json.empty() && !write_file(options.json, report.json(facts, seconds))) {
    std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
    return 2;
  }
  return report.ok() ? 0 : 1;
}

}  // namespace
}  // namespace attnplan::hip_test

int main(int argc, char** argv) {
  return attnplan::hip_test::run(attnplan::hip_test::parse(argc, argv));
}
