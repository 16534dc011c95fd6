#include <cstdio>

#include "bench/workload.h"

namespace attnplan::hip::bench {
namespace {

double bandwidth(const Measurement& m) { return m.kv_bytes / m.median_us * 1e6; }

}  // namespace

void print(const Report& report) {
  std::printf("%s (%s): copy %.2f TB/s, an empty graph %.1f us\n\n", report.device.c_str(),
              report.arch.c_str(), report.copy_bytes_per_second * 1e-12, report.empty_us);
  std::printf("| %-45s | cache | %9s | %9s | %6s | %7s | %7s | %-12s | %7s |\n", "", "median us",
              "least us", "TB/s", "of copy", "TFLOP/s", "work", "error");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const Measurement& m : report.rows) {
    std::printf("| %-45s | %-5s | %9.1f | %9.1f | %6.2f | %6.1f%% | %7.1f | %-12s | %7.4f |\n",
                m.name.c_str(), m.cache.c_str(), m.median_us, m.least_us, bandwidth(m) * 1e-12,
                100 * bandwidth(m) / report.copy_bytes_per_second, m.flops / m.median_us * 1e-6,
                m.work.c_str(), m.error);
  }
}

bool write_json(const Report& report, const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file,
               "{\"device\": \"%s\", \"arch\": \"%s\", \"copy_bytes_per_second\": %.4g, "
               "\"empty_us\": %.2f, \"rows\": [",
               report.device.c_str(), report.arch.c_str(), report.copy_bytes_per_second,
               report.empty_us);
  const char* comma = "";
  for (const Measurement& m : report.rows) {
    std::fprintf(file,
                 "%s\n  {\"name\": \"%s\", \"cache\": \"%s\", \"work\": \"%s\", \"workers\": %d, "
                 "\"median_us\": %.2f, \"least_us\": %.2f, \"kv_bytes\": %.0f, \"flops\": %.0f, "
                 "\"of_copy\": %.4f, \"error\": %.5f}",
                 comma, m.name.c_str(), m.cache.c_str(), m.work.c_str(), m.workers, m.median_us,
                 m.least_us, m.kv_bytes, m.flops, bandwidth(m) / report.copy_bytes_per_second,
                 m.error);
    comma = ",";
  }
  std::fprintf(file, "\n]}\n");
  return std::fclose(file) == 0;
}

}  // namespace attnplan::hip::bench
