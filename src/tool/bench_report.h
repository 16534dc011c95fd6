// The benchmark's figures, as a table for people and as JSON for comparisons.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tool/bench_timing.h"

namespace attnplan::tool {

struct BenchFigures {
  std::string name;
  double requests = 0;  // a plan, mean over the input's steps; likewise the next three
  double rows = 0;
  double input_bytes = 0;
  size_t plan_bytes = 0;  // the largest
  Timing plan;
  Timing copy;                         // memcpy of the input
  Timing fill;                         // memset of plan_bytes
  std::optional<double> instructions;  // a plan
};

std::string bench_table(const std::vector<BenchFigures>& figures);

// What further KV groups cost in a call that plans several; empty where that was not timed.
std::string bench_groups_note(const std::vector<BenchFigures>& figures);

// Throws std::runtime_error where the file cannot be written.
void write_bench_json(const std::vector<BenchFigures>& figures, const std::string& path);

}  // namespace attnplan::tool
