#include "bench/index_case.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/values.h"

namespace attnplan::hip::bench {
namespace {

constexpr uint32_t kSeedQ = 21, kSeedK = 22;

class IndexCase {
 public:
  IndexCase(Gpu& gpu, const Workload& workload, const Choices& choices,
            const attnplan_hip_device_info& device)
      : gpu_(gpu),
        workload_(workload),
        fill_(choices.fp8 ? Fill::kFp8 : Fill::kBf16),
        step_(gpu, workload, choices, device),
        rows_(int64_t{workload.requests} * workload.rows),
        cache_bytes_(static_cast<size_t>(step_.num_pages()) * kBlockTokens * kHeadSize *
                     (choices.fp8 ? 1 : 2)),
        k_(cache_bytes_),
        q_(size_t{2} * kHeadSize * rows_ * workload.kv_heads),
        selected_(size_t{4} * kTopK * rows_ * workload.kv_heads) {
    gpu.fill(k_, cache_bytes_, kSeedK, fill_);
    gpu.fill(q_, q_.bytes(), kSeedQ, Fill::kBf16);
    check(hip::fill(selected_.as(), 0xff, selected_.bytes(), gpu.stream()), "poison");
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    size_t bytes = 0;
    check(attnplan_hip_select_workspace_size(&step_.attention(), step_.plan().host,
                                             step_.plan().bytes, 0, &bytes, &error),
          error, "workspace size");
    workspace_ = std::make_unique<Buffer>(std::max<size_t>(bytes, 16));
  }

  void launch() {
    attnplan_hip_index index = ATTNPLAN_HIP_INDEX_INIT;
    index.k = k_.as();
    attnplan_hip_select_args args = ATTNPLAN_HIP_SELECT_ARGS_INIT;
    args.attention = &step_.attention();
    args.index = &index;
    args.plan = &step_.plan();
    args.q = q_.as();
    args.selected = selected_.as<int32_t>();
    args.workspace = workspace_->as();
    args.workspace_bytes = workspace_->bytes();
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    check(attnplan_hip_select(&args, gpu_.stream(), &error), error, "select");
  }

  Measurement measure(int repetitions) {
    launch();
    gpu_.wait();
    Measurement m;
    m.error = std::max(row_error(0), row_error(rows_ - 1));
    const Timing timing = gpu_.time(repetitions, [this] { launch(); });
    m.name = workload_.name;
    m.cache = fill_ == Fill::kFp8 ? "fp8" : "bf16";
    m.work = "index";
    m.workers = step_.workers();
    m.median_us = timing.median_us;
    m.least_us = timing.least_us;
    m.kv_bytes = static_cast<double>(cache_bytes_);
    m.flops = 2.0 * kHeadSize * static_cast<double>(rows_) * workload_.context;
    return m;
  }

 private:
  // By how much a block that was taken scores below the worst that should have been, relative to
  // the largest score. The row's own block is always among them.
  double row_error(int64_t row) {
    const auto request = static_cast<int32_t>(row / workload_.rows);
    const auto index = static_cast<int32_t>(row % workload_.rows);
    const int32_t count = workload_.context - workload_.rows + index + 1;
    const std::vector<double> scores = block_scores(row, request, count);
    const auto own = static_cast<int32_t>(scores.size()) - 1;
    std::vector<double> others(scores.begin(), scores.end() - 1);
    std::sort(others.rbegin(), others.rend());
    const double worst = others[kTopK - 2];

    std::vector<int32_t> taken(kTopK);
    gpu_.copy_out(taken.data(), selected_.as<int32_t>() + row * kTopK, taken.size() * 4);
    std::sort(taken.begin(), taken.end());
    if (taken.front() < 0 || taken.back() != own ||
        std::adjacent_find(taken.begin(), taken.end()) != taken.end()) {
      return HUGE_VAL;
    }
    double error = 0;
    for (const int32_t block : taken) {
      if (block != own) error = std::max(error, (worst - scores[block]) / std::fabs(others[0]));
    }
    return error;
  }

  std::vector<double> block_scores(int64_t row, int32_t request, int32_t count) {
    std::vector<double> q(kHeadSize);
    for (int32_t e = 0; e < kHeadSize; ++e) {
      q[e] = element(static_cast<uint64_t>(row) * kHeadSize + e, kSeedQ, Fill::kBf16);
    }
    std::vector<double> scores((count + kBlockTokens - 1) / kBlockTokens, -HUGE_VAL);
    for (int32_t t = 0; t < count; ++t) {
      const uint64_t token =
          static_cast<uint64_t>(step_.page(request, t)) * kBlockTokens + t % kBlockTokens;
      double score = 0;
      for (int32_t e = 0; e < kHeadSize; ++e) {
        score += q[e] * element(token * kHeadSize + e, kSeedK, fill_);
      }
      scores[t / kBlockTokens] = std::max(scores[t / kBlockTokens], score);
    }
    return scores;
  }

  Gpu& gpu_;
  const Workload& workload_;
  Fill fill_;
  PlannedStep step_;
  int64_t rows_;
  size_t cache_bytes_;
  Buffer k_, q_, selected_;
  std::unique_ptr<Buffer> workspace_;
};

}  // namespace

Measurement measure_index(Gpu& gpu, const Workload& workload, const Choices& choices,
                          const attnplan_hip_device_info& device, int repetitions) {
  return IndexCase(gpu, workload, choices, device).measure(repetitions);
}

}  // namespace attnplan::hip::bench
