#include "gpu/device_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cpu/block_table.h"
#include "cpu/kernel_traits.h"
#include "cpu/plan_view.h"
#include "cpu/sample.h"
#include "cpu/step_oracle.h"
#include "gpu/device_index.h"
#include "gpu/device_tensors.h"

namespace attnplan::gpu {
namespace {

constexpr double kTolerance = 2e-2;  // of bf16 and fp8
constexpr double kLseTolerance = 2e-3;
constexpr int32_t kOwnBlockTokens = 16;

// The caller's blocks where ids and the cache they count are known, else blocks of our own.
cpu::BlockTable table_of(const attnplan_config& config, const attnplan_group& group,
                         const cpu::Lengths& lengths, const std::optional<cpu::M3Params>& sparse) {
  const attnplan_kv_cache* cache = config.kv_cache;
  if (cache != nullptr && group.block_ids != nullptr) {
    return cpu::given_table(*cache, group, lengths);
  }
  if (cache != nullptr) return cpu::scattered_table(cache->block_size, cache->num_blocks, lengths);
  return cpu::scattered_table(sparse ? sparse->block_tokens : kOwnBlockTokens, 0, lengths);
}

class Comparison {
 public:
  Comparison(const Batch& batch, const std::vector<bool>& sample, const cpu::Output& expected,
             cpu::RunReport* report)
      : batch_(batch), sample_(sample), expected_(expected), report_(*report) {}

  void compare(const cpu::Output& got) {
    for (int32_t request = 0; request < batch_.lengths.size(); ++request) {
      for (int64_t row = batch_.lengths.row_begin[static_cast<size_t>(request)];
           row < batch_.lengths.row_begin[static_cast<size_t>(request) + 1]; ++row) {
        compare_row(got, request, row);
      }
    }
  }
  // Rows that a full graph adds: zeros, to the bit.
  void compare_pads(const cpu::Output& got, int64_t end) {
    for (int64_t row = batch_.lengths.rows(); row < end; ++row) {
      const auto out = got.row(row), lse = got.row_lse(row);
      const auto is_zero = [](double value) { return value == 0 && !std::signbit(value); };
      const bool right = std::all_of(out.begin(), out.end(), is_zero) &&
                         std::all_of(lse.begin(), lse.end(), [](double v) {
                           return v == -std::numeric_limits<double>::infinity();
                         });
      ++report_.pad_rows;
      if (right) continue;
      ++report_.rows_wrong;
      report_.max_error = std::numeric_limits<double>::infinity();
    }
  }

 private:
  void compare_row(const cpu::Output& got, int32_t request, int64_t row) {
    const int64_t at = batch_.plan_row[static_cast<size_t>(row)];
    const auto is_number = [](double value) { return !std::isnan(value); };
    const auto found = got.row(at);
    const bool written = std::all_of(found.begin(), found.end(), is_number);
    ++(written ? report_.rows_written : report_.rows_unwritten);
    if (!sample_[static_cast<size_t>(row)]) return;
    ++report_.rows_compared;
    double worst = 0, worst_lse = 0;
    for (int32_t head = 0; head < batch_.shape.num_q_heads; ++head) {
      worst = std::max(worst, head_error(got, at, row, head));
      worst_lse = std::max(worst_lse, lse_error(got, at, row, head));
    }
    report_.rows_wrong += worst > kTolerance || worst_lse > kLseTolerance;
    report_.max_lse_error = std::max(report_.max_lse_error, worst_lse);
    if (worst > report_.max_error || report_.worst_row < 0) {
      report_.max_error = worst;
      report_.worst_row = static_cast<int32_t>(row);
      report_.worst_request = request;
    }
  }
  // Relative to the largest element expected of the head; infinite for what is no number.
  double head_error(const cpu::Output& got, int64_t at, int64_t row, int32_t head) const {
    const auto size = static_cast<size_t>(batch_.shape.v_head_size);
    const auto begin = static_cast<size_t>(head) * size;
    double largest = 0, difference = 0;
    for (size_t e = begin; e < begin + size; ++e) {
      const double error = std::abs(got.row(at)[e] - expected_.row(row)[e]);
      if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
      difference = std::max(difference, error);
      largest = std::max(largest, std::abs(expected_.row(row)[e]));
    }
    return difference / (largest + 1e-6);
  }
  double lse_error(const cpu::Output& got, int64_t at, int64_t row, int32_t head) const {
    const double found = got.row_lse(at)[static_cast<size_t>(head)];
    const double right = expected_.row_lse(row)[static_cast<size_t>(head)];
    if (found == right) return 0;
    const double error = std::abs(found - right) / std::max(1.0, std::abs(right));
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
  }

  const Batch& batch_;
  const std::vector<bool>& sample_;
  const cpu::Output& expected_;
  cpu::RunReport& report_;
};

// Where each row of the step stands in plan order.
std::vector<int64_t> plan_rows(const cpu::Lengths& lengths, const DevicePlan& plan) {
  std::string problem;
  const auto view = cpu::read_plan(plan.data(), plan.bytes(), problem);
  if (!view.has_value()) throw std::runtime_error(problem);
  std::vector<int64_t> rows(static_cast<size_t>(lengths.rows()));
  int64_t next = 0;
  for (int32_t p = 0; p < lengths.size(); ++p) {
    const int32_t request = view->order.empty() ? p : view->order[static_cast<size_t>(p)];
    const auto begin = lengths.row_begin[static_cast<size_t>(request)];
    for (int64_t i = 0; i < lengths.query_lens[static_cast<size_t>(request)]; ++i) {
      rows[static_cast<size_t>(begin + i)] = next++;
    }
  }
  return rows;
}

// All segments; with an index, over the blocks that it selects.
void launch(const Device& device, const DevicePlan& plan, const DeviceTensors& tensors,
            const DeviceIndex* index) {
  attnplan_hip_plan both = ATTNPLAN_HIP_PLAN_INIT;
  both.host = plan.data();
  both.device = tensors.plan();
  both.bytes = plan.bytes();
  const attnplan_hip_kv kv = tensors.kv();
  attnplan_hip_launch_args args = ATTNPLAN_HIP_LAUNCH_ARGS_INIT;
  args.attention = &plan.attention();
  args.kv = &kv;
  args.plan = &both;
  args.q = tensors.q();
  args.out = tensors.out();
  args.lse = tensors.lse();
  args.workspace = tensors.workspace();
  args.workspace_bytes = tensors.workspace_bytes();
  if (index != nullptr) args.selected = index->selected();
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  const int32_t launches = std::max(plan.num_segments(), 1);  // a graph's rows have no segment
  for (args.segment = 0; args.segment < launches; ++args.segment) {
    if (index != nullptr) index->select(device, plan, both, args.segment);
    if (device.library.launch(&args, nullptr, &error) != ATTNPLAN_OK) {
      throw std::runtime_error(error.message);
    }
  }
}

void run_batch(const Device& device, const attnplan_config& config, const attnplan_step& step,
               const attnplan_group& group, const cpu::RunOptions& options, const Batch& given,
               cpu::RunReport* report) {
  Batch batch = given;
  const DevicePlan plan(device, config, step, batch.lengths, batch.shape, batch.table,
                        batch.sparse ? batch.sparse->top_k : 0);
  batch.plan_row = plan_rows(batch.lengths, plan);
  const cpu::Values values(options.seed, cpu::Values::Grid::kStored);
  const cpu::Origins origins(batch.table);
  const DeviceTensors tensors(device, plan, batch, values, origins);
  std::optional<DeviceIndex> index;
  if (batch.sparse) index.emplace(device, plan, batch, values, origins);
  launch(device, plan, tensors, index ? &*index : nullptr);
  const cpu::Output got = tensors.read_output();

  std::vector<int64_t> room(static_cast<size_t>(batch.lengths.size()),
                            std::numeric_limits<int64_t>::max());
  if (step.phase == ATTNPLAN_PHASE_DRAFT) room = cpu::token_room(config, step, &group);
  const std::vector<bool> sample = cpu::sample_rows(batch.lengths, options.max_rows);
  const cpu::Output expected =
      cpu::oracle({values, batch.shape, batch.sparse, batch.lengths, origins, room, sample});
  Comparison comparison(batch, sample, expected, report);
  comparison.compare(got);
  comparison.compare_pads(got, plan.rows());
}

}  // namespace

cpu::RunReport run(const Device& device, const attnplan_config& config, const attnplan_step& step,
                   const attnplan_group& group, const cpu::RunOptions& options) {
  cpu::RunReport report;
  Batch batch;
  batch.lengths = cpu::shorten(cpu::read_lengths(step), options.max_seq_len);
  batch.shape = cpu::cap_shape(cpu::full_shape(config), options.max_kv_heads, options.max_group, 0);
  batch.sparse = options.sparse ? options.sparse : cpu::profile_sparse(config);
  batch.table = table_of(config, group, batch.lengths, batch.sparse);
  report.sparse = batch.sparse.has_value();
  report.rows = batch.lengths.rows();
  report.shape = batch.shape;
  for (int32_t r = 0; r < batch.lengths.size(); ++r) {
    if (batch.lengths.query_lens[static_cast<size_t>(r)] == 0) continue;
    ++report.requests;
    report.max_seq_len =
        std::max<int64_t>(report.max_seq_len, batch.lengths.seq_lens[static_cast<size_t>(r)]);
  }
  try {
    const bool idle = config.graph_full.count > 0 && step.num_tokens_padded > 0;
    if (report.rows > 0 || idle) run_batch(device, config, step, group, options, batch, &report);
    report.ok = report.rows_written == report.rows && report.rows_wrong == 0;
  } catch (const std::exception& error) {
    report.problem = error.what();
    report.max_error = std::numeric_limits<double>::infinity();
  }
  return report;
}

}  // namespace attnplan::gpu
