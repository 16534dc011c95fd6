#include "tool/bench_report.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "attnplan.h"

namespace attnplan::tool {
namespace {

std::string nanoseconds(double ns) {
  return ns < 10000 ? fmt::format("{:.0f} ns", ns) : fmt::format("{:.1f} us", ns / 1000);
}

double ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

double tenths(double value) { return std::round(value * 10) / 10; }

nlohmann::ordered_json json_of(const Timing& timing) {
  return {{"median_ns", tenths(timing.median_ns)},
          {"p99_ns", tenths(timing.p99_ns)},
          {"samples", timing.samples}};
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

std::string bench_table(const std::vector<BenchFigures>& figures) {
  std::string text =
      fmt::format("{:<26} {:>8} {:>10} {:>10} {:>11} {:>9} {:>9}", "batch", "requests", "median",
                  "p99", "per request", "x memcpy", "x memset");
  const bool counted = !figures.empty() && figures.front().instructions.has_value();
  text += counted ? fmt::format(" {:>12}\n", "instructions") : "\n";
  for (const BenchFigures& f : figures) {
    // Next to a plan of a few hundred bytes a memset is nothing: the ratio would only be noise.
    const bool writes_much = static_cast<double>(f.plan_bytes) > f.input_bytes;
    const std::string to_memset =
        writes_much ? fmt::format("{:.1f}", ratio(f.plan.median_ns, f.fill.median_ns)) : "";
    text += fmt::format("{:<26} {:>8.0f} {:>10} {:>10} {:>8.2f} ns {:>9.1f} {:>9}", f.name,
                        f.requests, nanoseconds(f.plan.median_ns), nanoseconds(f.plan.p99_ns),
                        ratio(f.plan.median_ns, f.requests),
                        ratio(f.plan.median_ns, f.copy.median_ns), to_memset);
    text += f.instructions ? fmt::format(" {:>12.0f}\n", *f.instructions) : "\n";
  }
  return text;
}

std::string bench_groups_note(const std::vector<BenchFigures>& figures) {
  std::string text;
  double first = 0;
  for (const BenchFigures& f : figures) {
    const size_t at = f.name.find("/groups:");
    if (at == std::string::npos) continue;
    const int groups = std::stoi(f.name.substr(f.name.find(':') + 1));
    if (groups == 1) first = f.plan.median_ns;
    if (groups == 1 || first <= 0) continue;
    text += fmt::format("of {} KV groups each further one costs {:.0f}% of the first\n", groups,
                        100 * (f.plan.median_ns - first) / (groups - 1) / first);
  }
  return text;
}

void write_bench_json(const std::vector<BenchFigures>& figures, const std::string& path) {
  nlohmann::ordered_json root;
  root["version"] = attnplan_version_string();
  root["cpu"] = cpu_model();
  root["cases"] = nlohmann::ordered_json::array();
  for (const BenchFigures& f : figures) {
    nlohmann::ordered_json one;
    one["name"] = f.name;
    one["requests"] = tenths(f.requests);
    one["rows"] = tenths(f.rows);
    one["input_bytes"] = tenths(f.input_bytes);
    one["plan_bytes"] = f.plan_bytes;
    one["plan"] = json_of(f.plan);
    one["ns_per_request"] = ratio(f.plan.median_ns, f.requests);
    one["memcpy_input"] = json_of(f.copy);
    one["ratio_to_memcpy"] = ratio(f.plan.median_ns, f.copy.median_ns);
    one["memset_plan"] = json_of(f.fill);
    one["ratio_to_memset"] = ratio(f.plan.median_ns, f.fill.median_ns);
    if (f.instructions) one["instructions_per_plan"] = tenths(*f.instructions);
    root["cases"].push_back(std::move(one));
  }
  std::ofstream file(path);
  file << root.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace attnplan::tool
