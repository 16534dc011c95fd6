// What the benchmark plans: batches made on the spot, and traces of real load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnplan.h"

namespace attnplan::tool {

// One step's host arrays, in the form an engine keeps them.
struct BenchStep {
  std::vector<int32_t> query_start_loc;      // [n + 1]
  std::vector<int32_t> seq_lens;             // [n], likewise below
  std::vector<int32_t> num_computed_tokens;  // empty: not given, likewise below
  std::vector<int32_t> num_prompt_tokens;
  std::vector<int32_t> num_draft_tokens;
  std::vector<int32_t> block_ids;  // [n, columns]
  int32_t columns = 0;
  attnplan_phase phase = ATTNPLAN_PHASE_TARGET;
  int32_t decode_threshold = 4;

  int32_t num_reqs() const { return static_cast<int32_t>(seq_lens.size()); }
  attnplan_step view() const;
  attnplan_group group() const;
  // Everything that the planner is handed, as one list of arrays.
  std::vector<const std::vector<int32_t>*> arrays() const;
  size_t bytes() const;
};

// What a plan is asked for, beyond segments.
enum class BenchAsk {
  kNothing,
  kStreamK,    // a work list for 256 workers
  kPageTable,  // 16-token pages of a cache of 128-token blocks, 64 columns each
  kGroups,     // the same step for several KV groups in one call
};

// Batches that are planned in turn, so that no branch predictor learns one by heart.
struct BenchInput {
  std::string name;  // "ragged/256", "uniform/256/stream_k", "uniform/256/groups:4"
  BenchAsk ask = BenchAsk::kNothing;
  int32_t groups = 1;
  std::vector<BenchStep> steps;
  double mean_requests() const;
  double mean_rows() const;
  double mean_bytes() const;
};

// Names of all inputs, in table order: three shapes at five sizes, the same with more asked for,
// then the traces in `data`.
std::vector<std::string> bench_input_names(const std::string& data);

// Throws std::runtime_error where a trace cannot be read.
BenchInput bench_input(std::string_view name, const std::string& data);

}  // namespace attnplan::tool
