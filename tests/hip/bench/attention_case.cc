#include "bench/attention_case.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/values.h"
#include "cpu/oracle.h"

namespace attnplan::hip::bench {
namespace {

constexpr uint32_t kSeedQ = 11, kSeedK = 12, kSeedV = 13;

class AttentionCase {
 public:
  AttentionCase(Gpu& gpu, const Workload& workload, const Choices& choices,
                const attnplan_hip_device_info& device)
      : gpu_(gpu),
        workload_(workload),
        fill_(choices.fp8 ? Fill::kFp8 : Fill::kBf16),
        step_(gpu, workload, choices, device),
        rows_(int64_t{workload.requests} * workload.rows),
        cache_bytes_(static_cast<size_t>(step_.num_pages()) *
                     step_.attention().kv_cache->page_size * workload.kv_heads * kHeadSize *
                     (choices.fp8 ? 1 : 2)),
        k_(cache_bytes_),
        v_(cache_bytes_),
        q_(row_bytes() * rows_),
        out_(row_bytes() * rows_) {
    gpu.fill(k_, cache_bytes_, kSeedK, fill_);
    gpu.fill(v_, cache_bytes_, kSeedV, fill_);
    gpu.fill(q_, q_.bytes(), kSeedQ, Fill::kBf16);
    check(hip::fill(out_.as(), 0xff, out_.bytes(), gpu.stream()), "poison");
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    size_t bytes = 0;
    check(attnplan_hip_workspace_size(&step_.attention(), step_.plan().host, step_.plan().bytes,
                                      &bytes, &error),
          error, "workspace size");
    workspace_ = std::make_unique<Buffer>(std::max<size_t>(bytes, 16));
    if (workload.kind == Kind::kM3Sparse) select();
  }

  void launch() {
    attnplan_hip_kv kv = ATTNPLAN_HIP_KV_INIT;
    kv.k = k_.as();
    kv.v = v_.as();
    attnplan_hip_launch_args args = ATTNPLAN_HIP_LAUNCH_ARGS_INIT;
    args.attention = &step_.attention();
    args.kv = &kv;
    args.plan = &step_.plan();
    args.q = q_.as();
    args.out = out_.as();
    args.workspace = workspace_->as();
    args.workspace_bytes = workspace_->bytes();
    if (selection_ != nullptr) args.selected = selection_->as<int32_t>();
    attnplan_error error = ATTNPLAN_ERROR_INIT;
    check(attnplan_hip_launch(&args, gpu_.stream(), &error), error, "launch");
  }

  // Compares a few rows with a float64 reference. NaN is an error of infinity.
  double error() {
    double worst = 0;
    for (const int64_t row : {int64_t{0}, rows_ / 3, rows_ / 2, rows_ - 1}) {
      for (const int32_t head : {0, workload_.q_heads - 1}) {
        worst = std::max(worst, row_error(row, head));
      }
    }
    return worst;
  }

  Measurement measure(int repetitions) {
    launch();
    gpu_.wait();
    Measurement m;
    m.error = error();
    const Timing timing = gpu_.time(repetitions, [this] { launch(); });
    m.name = workload_.name;
    m.cache = fill_ == Fill::kFp8 ? "fp8" : "bf16";
    m.work = step_.policy();
    m.workers = step_.workers();
    m.median_us = timing.median_us;
    m.least_us = timing.least_us;
    m.kv_bytes = 2.0 * static_cast<double>(cache_bytes_);
    double seen = workload_.context - 0.5 * (workload_.rows - 1);  // keys of a row, on average
    if (selection_ != nullptr) {
      m.kv_bytes *= kTopK * kBlockTokens / seen;
      seen = kTopK * kBlockTokens;
      m.work = "selected";
    }
    m.flops = 4.0 * kHeadSize * workload_.q_heads * static_cast<double>(rows_) * seen;
    return m;
  }

 private:
  // Blocks of every row, spread over its context, its own block the last.
  static int32_t selected_block(int64_t row, int32_t i, int32_t live) {
    const int32_t stride = live / kTopK;
    return i == kTopK - 1 ? live - 1 : i * stride + static_cast<int32_t>(row % stride);
  }
  void select() {
    const int32_t live = workload_.context / kBlockTokens;
    std::vector<int32_t> blocks;
    for (int64_t row = 0; row < rows_; ++row) {
      for (int32_t i = 0; i < kTopK; ++i) blocks.push_back(selected_block(row, i, live));
    }
    selection_ = std::make_unique<Buffer>(blocks.size() * 4);
    gpu_.copy_in(*selection_, blocks.data(), blocks.size() * 4);
  }
  std::vector<int64_t> keys_of(int64_t row, int32_t count) const {
    std::vector<int64_t> keys;
    if (selection_ == nullptr) {
      keys.resize(count);
      std::iota(keys.begin(), keys.end(), 0);
      return keys;
    }
    for (int32_t i = 0; i < kTopK; ++i) {
      const int64_t first = selected_block(row, i, workload_.context / kBlockTokens) * kBlockTokens;
      for (int64_t t = first; t < first + kBlockTokens && t < count; ++t) keys.push_back(t);
    }
    return keys;
  }

  size_t row_bytes() const { return size_t{2} * workload_.q_heads * kHeadSize; }

  std::vector<double> key_rows(int32_t request, int32_t kv_head, int32_t count, uint32_t seed) {
    const int32_t page_size = step_.attention().kv_cache->page_size;
    std::vector<double> rows(static_cast<size_t>(count) * kHeadSize);
    for (int32_t t = 0; t < count; ++t) {
      const uint64_t token =
          static_cast<uint64_t>(step_.page(request, t)) * page_size + t % page_size;
      const uint64_t first = (token * workload_.kv_heads + kv_head) * kHeadSize;
      for (int32_t e = 0; e < kHeadSize; ++e) {
        rows[static_cast<size_t>(t) * kHeadSize + e] = element(first + e, seed, fill_);
      }
    }
    return rows;
  }

  double row_error(int64_t row, int32_t head) {
    const auto request = static_cast<int32_t>(row / workload_.rows);
    const auto index = static_cast<int32_t>(row % workload_.rows);
    const int32_t count = workload_.context - workload_.rows + index + 1;
    const int32_t kv_head = head / (workload_.q_heads / workload_.kv_heads);
    const auto k = key_rows(request, kv_head, count, kSeedK);
    const auto v = key_rows(request, kv_head, count, kSeedV);
    const uint64_t first = (static_cast<uint64_t>(row) * workload_.q_heads + head) * kHeadSize;
    std::vector<double> q(kHeadSize), expected(kHeadSize);
    for (int32_t e = 0; e < kHeadSize; ++e) q[e] = element(first + e, kSeedQ, Fill::kBf16);
    const std::vector<int64_t> keys = keys_of(row, count);
    cpu::AttentionShape shape;
    shape.num_q_heads = workload_.q_heads;
    shape.num_kv_heads = workload_.kv_heads;
    cpu::oracle_attend(shape, q.data(), {k.data(), kHeadSize}, {v.data(), kHeadSize}, keys,
                       expected);
    std::vector<uint16_t> got(kHeadSize);
    gpu_.copy_out(got.data(), out_.as<uint16_t>() + first, got.size() * 2);
    double largest = 0, difference = 0;
    for (int32_t e = 0; e < kHeadSize; ++e) {
      const double d = std::fabs(bf16(got[e]) - expected[e]);
      if (std::isnan(d)) return HUGE_VAL;
      largest = std::max(largest, std::fabs(expected[e]));
      difference = std::max(difference, d);
    }
    return difference / largest;
  }

  Gpu& gpu_;
  const Workload& workload_;
  Fill fill_;
  PlannedStep step_;
  int64_t rows_;
  size_t cache_bytes_;
  Buffer k_, v_, q_, out_;
  std::unique_ptr<Buffer> workspace_;
  std::unique_ptr<Buffer> selection_;  // of MiniMax-M3
};

}  // namespace

Measurement measure_attention(Gpu& gpu, const Workload& workload, const Choices& choices,
                              const attnplan_hip_device_info& device, int repetitions) {
  return AttentionCase(gpu, workload, choices, device).measure(repetitions);
}

}  // namespace attnplan::hip::bench
