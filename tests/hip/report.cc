#include "hip/report.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace attnplan::hip_test {
namespace {

constexpr size_t kMaxFailures = 50;  // of a report

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

void Report::add(const std::string& name, const Verdict& verdict, double tolerance,
                 const std::string& how, const std::string& again) {
  Family& family = families_[name];
  ++problems_;
  ++family.problems;
  family.judged += verdict.judged;
  family.worst = std::max(family.worst, verdict.worst);
  family.worst_lse = std::max(family.worst_lse, verdict.worst_lse);
  family.tolerance = std::max(family.tolerance, tolerance);
  if (verdict.ok()) return;
  ++failed_;
  ++family.failed;
  if (failures_.size() < kMaxFailures) failures_.push_back({how, again, verdict.failures});
}

void Report::print_table() const {
  std::printf("%-28s %9s %7s %10s %12s %10s\n", "family", "problems", "failed", "rows",
              "worst error", "worst lse");
  for (const auto& [name, family] : families_) {
    std::printf("%-28s %9lld %7lld", name.c_str(), static_cast<long long>(family.problems),
                static_cast<long long>(family.failed));
    if (family.judged > 0) {
      std::printf(" %10lld %12.2e %10.2e", static_cast<long long>(family.judged), family.worst,
                  family.worst_lse);
    }
    std::printf("\n");
  }
  for (const Failure& failure : failures_) {
    std::printf("\nFAILED %s\n  again: %s\n", failure.how.c_str(), failure.again.c_str());
    for (const std::string& line : failure.found) std::printf("  %s\n", line.c_str());
  }
  std::printf("\n%lld problems, %lld failed\n", static_cast<long long>(problems_),
              static_cast<long long>(failed_));
}

std::string Report::json(const RunFacts& facts, double seconds) const {
  std::ostringstream out;
  out << "{\"program\": \"attnplan_hip_test\", \"ok\": " << (ok() ? "true" : "false")
      << ",\n \"device\": {\"name\": " << quoted(facts.device)
      << ", \"arch\": " << quoted(facts.arch) << ", \"compute_units\": " << facts.compute_units
      << ", \"memory_bytes\": " << facts.memory_bytes
      << "},\n \"planner_version\": " << quoted(facts.planner_version)
      << ", \"hip_abi_version\": " << facts.abi_version << ",\n \"seed\": " << facts.seed
      << ", \"quick\": " << (facts.quick ? "true" : "false")
      << ", \"filter\": " << quoted(facts.filter) << ", \"seconds\": " << seconds
      << ",\n \"problems\": " << problems_ << ", \"failed\": " << failed_ << ",\n \"families\": [";
  const char* separator = "\n  ";
  for (const auto& [name, family] : families_) {
    out << separator << "{\"name\": " << quoted(name) << ", \"problems\": " << family.problems
        << ", \"failed\": " << family.failed << ", \"rows\": " << family.judged
        << ", \"worst_error\": " << family.worst << ", \"worst_lse\": " << family.worst_lse
        << ", \"tolerance\": " << family.tolerance << "}";
    separator = ",\n  ";
  }
  out << "],\n \"failures\": [";
  separator = "\n  ";
  for (const Failure& failure : failures_) {
    out << separator << "{\"problem\": " << quoted(failure.how)
        << ", \"again\": " << quoted(failure.again) << ", \"found\": [";
    for (size_t i = 0; i < failure.found.size(); ++i) {
      out << (i > 0 ? ", " : "") << quoted(failure.found[i]);
    }
    out << "]}";
    separator = ",\n  ";
  }
  out << "]}\n";
  return out.str();
}

}  // namespace attnplan::hip_test
