// What a run has found: a table for a person, JSON to attach to a bug.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hip/judge.h"

namespace attnplan::hip_test {

// Facts about the run, by name, as JSON prints them.
struct RunFacts {
  std::string device;
  std::string arch;
  int32_t compute_units = 0;
  int64_t memory_bytes = 0;
  std::string planner_version;
  uint32_t abi_version = 0;
  uint64_t seed = 0;
  bool quick = false;
  std::string filter;
};

class Report {
 public:
  // `how`: the problem in words; `again`: options that repeat it.
  void add(const std::string& family, const Verdict& verdict, double tolerance,
           const std::string& how, const std::string& again);

  bool ok() const { return failed_ == 0 && problems_ > 0; }
  void print_table() const;
  std::string json(const RunFacts& facts, double seconds) const;

 private:
  struct Family {
    int64_t problems = 0;
    int64_t failed = 0;
    int64_t judged = 0;
    double worst = 0;
    double worst_lse = 0;
    double tolerance = 0;
  };
  struct Failure {
    std::string how;
    std::string again;
    std::vector<std::string> found;
  };

  int64_t problems_ = 0;
  int64_t failed_ = 0;
  std::map<std::string, Family> families_;
  std::vector<Failure> failures_;
};

}  // namespace attnplan::hip_test
