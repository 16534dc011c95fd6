#include "cpu/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpu/block_table.h"
#include "cpu/executor.h"
#include "cpu/kernel_traits.h"
#include "cpu/lengths.h"
#include "cpu/plan_view.h"
#include "cpu/sample.h"
#include "cpu/step_oracle.h"
#include "cpu/values.h"

namespace attnplan::cpu {
namespace {

constexpr double kTolerance = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int32_t kOwnBlockTokens = 16;
constexpr int64_t kMostPadRows = 1 << 14;   // of a graph; more is a damaged header
constexpr int64_t kMostElements = 1 << 28;  // of cache and output together: 2 GiB

// The caller's blocks where ids and the cache they count are known, else blocks of our own.
BlockTable table_of(const attnplan_config& config, const attnplan_group* group,
                    const Lengths& lengths, const std::optional<M3Params>& sparse) {
  const attnplan_kv_cache* cache = config.kv_cache;
  if (cache != nullptr && group != nullptr && group->block_ids != nullptr) {
    return given_table(*cache, *group, lengths);
  }
  if (cache != nullptr) return scattered_table(cache->block_size, cache->num_blocks, lengths);
  return scattered_table(sparse.has_value() ? sparse->block_tokens : kOwnBlockTokens, 0, lengths);
}

// Largest difference over (1e-6 + largest expected magnitude); infinite where the difference is
// no number, as for a row that nobody wrote. Equal infinities are equal.
double relative_error(std::span<const double> got, std::span<const double> expected) {
  double largest = 0;
  double difference = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) {
      if (std::isfinite(expected[i])) largest = std::max(largest, std::abs(expected[i]));
      continue;
    }
    const double d = std::abs(got[i] - expected[i]);
    if (!std::isfinite(d)) return kInfinity;
    difference = std::max(difference, d);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return difference / (1e-6 + largest);
}

// Where each row of the step stands in plan order.
std::vector<int64_t> plan_rows(const Lengths& lengths, const PlanView& plan) {
  std::vector<int64_t> rows(static_cast<size_t>(lengths.rows()));
  int64_t next = 0;
  for (int32_t p = 0; p < lengths.size(); ++p) {
    const int32_t request = plan.order.empty() ? p : plan.order[p];
    for (int64_t i = 0; i < lengths.query_lens[request]; ++i) {
      rows[lengths.row_begin[request] + i] = next++;
    }
  }
  return rows;
}

void count_writes(const Execution& done, RunReport& report) {
  for (size_t row = 0; row < done.writes.size(); ++row) {
    const bool pad = static_cast<int64_t>(row) >= report.rows;
    if (pad && done.writes[row] <= 1) continue;  // its zeros count below
    if (done.writes[row] == 1) ++report.rows_written;
    if (done.writes[row] == 0) ++report.rows_unwritten;
    if (done.writes[row] > 1) ++report.rows_rewritten;
  }
  report.rows_out_of_range = done.out_of_range;
  report.pad_rows = done.pad_rows;
}

struct Compared {
  const Lengths& lengths;
  const std::vector<bool>& sample;       // [rows] of the step
  const std::vector<int64_t>& plan_row;  // [rows] of the step
};

void compare(const Execution& done, const Output& expected, const Compared& what,
             RunReport& report) {
  double worst = 0;
  for (int32_t request = 0; request < what.lengths.size(); ++request) {
    for (int64_t row = what.lengths.row_begin[request]; row < what.lengths.row_begin[request + 1];
         ++row) {
      if (!what.sample[row]) continue;
      ++report.rows_compared;
      const int64_t at = what.plan_row[row];
      const double error = relative_error(done.out.row(at), expected.row(row));
      const double lse = relative_error(done.out.row_lse(at), expected.row_lse(row));
      report.rows_wrong += std::max(error, lse) > kTolerance;
      report.max_error = std::max(report.max_error, error);
      report.max_lse_error = std::max(report.max_lse_error, lse);
      if (std::max(error, lse) > worst) {
        worst = std::max(error, lse);
        report.worst_row = static_cast<int32_t>(row);
        report.worst_request = request;
      }
    }
  }
}

// A graph's pad rows must come out as zeros with a log-sum-exp of minus infinity.
void compare_pads(const Execution& done, RunReport& report) {
  Output pad(1, report.shape);
  pad.clear(0);
  for (int64_t row = report.rows; row < report.rows + done.pad_rows; ++row) {
    report.max_error = std::max(report.max_error, relative_error(done.out.row(row), pad.row(0)));
    report.max_lse_error =
        std::max(report.max_lse_error, relative_error(done.out.row_lse(row), pad.row_lse(0)));
  }
}

// A planner refuses these before there is a plan; here they would divide by zero.
std::string unusable(const attnplan_config& config, const AttentionShape& shape) {
  if (shape.num_q_heads % shape.num_kv_heads != 0) return "query heads are no multiple of KV heads";
  if (config.kv_cache == nullptr) return "";
  const int32_t block = config.kv_cache->block_size;
  const int32_t page = config.kv_cache->page_size > 0 ? config.kv_cache->page_size : block;
  return block < 1 || block % page != 0 ? "pages that do not divide the block" : "";
}

// A step may be legal and yet too large to hold its cache and output in float64.
std::string too_large(const Lengths& lengths, const RunReport& report) {
  const AttentionShape& shape = report.shape;
  const int64_t per_token =
      int64_t{shape.num_kv_heads} * (int64_t{shape.head_size} + shape.v_head_size);
  const int64_t per_row = 2 * int64_t{shape.num_q_heads} * shape.v_head_size;
  const auto bounded = [](int64_t count, int64_t each) {
    return count > kMostElements / each ? kMostElements + 1 : count * each;
  };
  int64_t tokens = 0;
  for (const int32_t seq_len : lengths.seq_lens) tokens += seq_len;
  if (bounded(tokens, per_token) + bounded(lengths.rows(), per_row) <= kMostElements) return "";
  return std::to_string(tokens) + " tokens and " + std::to_string(lengths.rows()) +
         " rows do not fit in memory at this size: shorten the contexts or cap the heads";
}

// Where a plan is not one of this step, running it means nothing.
std::string mismatch(const PlanView& plan, const Lengths& lengths) {
  const attnplan_plan_header& header = *plan.header;
  if (header.num_reqs != lengths.size()) return "a plan of another number of requests";
  if (header.num_rows != lengths.rows()) return "a plan of another number of rows";
  if (header.graph_rows - lengths.rows() > kMostPadRows) return "a graph beyond all sizes";
  if (int64_t{header.graph_requests} - lengths.size() > kMostPadRows) {
    return "a graph beyond all sizes";
  }
  return "";
}

}  // namespace

RunOptions RunOptions::quick() {
  RunOptions options;
  options.max_kv_heads = 2;
  options.max_group = 2;
  options.max_head_size = 4;
  options.max_seq_len = 4096;
  options.max_rows = 320;
  return options;
}

RunReport run(const attnplan_config& config, const attnplan_step& step, const attnplan_group* group,
              const void* plan, size_t plan_bytes, const RunOptions& options) {
  RunReport report;
  const Lengths lengths = shorten(read_lengths(step), options.max_seq_len);
  report.rows = lengths.rows();
  for (int32_t r = 0; r < lengths.size(); ++r) {
    if (lengths.query_lens[r] == 0) continue;
    ++report.requests;
    report.max_seq_len = std::max<int64_t>(report.max_seq_len, lengths.seq_lens[r]);
  }
  const AttentionShape whole = full_shape(config);
  report.shape = cap_shape(whole, options.max_kv_heads, options.max_group, options.max_head_size);
  std::optional<M3Params> sparse = options.sparse;
  if (!sparse.has_value()) sparse = profile_sparse(config);
  if (sparse.has_value() && options.max_head_size > 0) {
    sparse->index_head_size = std::min(sparse->index_head_size, options.max_head_size);
  }
  report.sparse = sparse.has_value();

  const auto view = read_plan(plan, plan_bytes, report.problem);
  if (view.has_value()) report.problem = mismatch(*view, lengths);
  if (report.problem.empty()) report.problem = unusable(config, whole);
  if (report.problem.empty()) report.problem = too_large(lengths, report);
  if (!report.problem.empty()) {
    report.rows_unwritten = report.rows;
    report.max_error = kInfinity;
    return report;
  }

  const Values values(options.seed);
  const BlockTable table = table_of(config, group, lengths, sparse);
  const Origins origins(table);
  const std::vector<bool> sample = sample_rows(lengths, options.max_rows);
  const std::vector<int64_t> plan_row = plan_rows(lengths, *view);
  std::vector<bool> compute(sample.size());
  for (size_t row = 0; row < sample.size(); ++row) compute[plan_row[row]] = sample[row];

  const Execution done = execute(*view, {config, values, report.shape, sparse, lengths, table,
                                         origins, compute, options.max_seq_len == 0});
  const auto room = token_room(config, step, group);
  const Output expected = oracle({values, report.shape, sparse, lengths, origins, room, sample});
  count_writes(done, report);
  compare(done, expected, {lengths, sample, plan_row}, report);
  compare_pads(done, report);
  report.ok = report.rows_written == report.rows && report.rows_rewritten == 0 &&
              report.rows_out_of_range == 0 && report.max_error <= kTolerance &&
              report.max_lse_error <= kTolerance;
  return report;
}

}  // namespace attnplan::cpu
