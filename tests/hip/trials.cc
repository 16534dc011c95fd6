#include "hip/trials.h"

#include <algorithm>

#include "hip/draw.h"

namespace attnplan::hip_test {
namespace {

#if defined(ATTNPLAN_HIP_EMULATED)
constexpr bool kHasGraphs = false;
#else
constexpr bool kHasGraphs = true;
#endif
constexpr Size kSmall = {4, 200, 30, 1500};
constexpr Size kLarge = {24, 2500, 150, 9000};
constexpr int64_t kMaxRows = 64;  // judged of a large problem

class Selecting {
 public:
  explicit Selecting(const Selection& selection) : selection_(selection) {}

  std::vector<Description> all() {
    for (const KernelLine& line : kKernelLines) {
      for (int b = 0; b < kNumBatches; ++b) add_batch(line, static_cast<Batch>(b));
      add_ways(line);
      add_pads(line);
      if (selection_.quick) continue;
      add_long(line);
      add_huge(line);
    }
    return std::move(trials_);
  }

 private:
  void add_batch(const KernelLine& line, Batch batch) {
    const int index = static_cast<int>(&line - kKernelLines) + static_cast<int>(batch);
    if (selection_.quick) {  // every kernel and every batch, not every pair
      if (index % 4 == 0) add(draw(line, batch, selection_.seed, kSmall));
      return;
    }
    for (uint64_t i = 0; i < 2; ++i) add(draw(line, batch, selection_.seed + i, kSmall));
    Description large = draw(line, batch, selection_.seed + 2, kLarge);
    large.num_workers = selection_.num_workers;
    large.max_rows = kMaxRows;
    add(large);
  }

  // Refreshed plans, graphs and written caches, over different batches for every kernel.
  void add_ways(const KernelLine& line) {
    const auto index = static_cast<int>(&line - kKernelLines);
    constexpr Batch kBatches[] = {Batch::kVerify, Batch::kRagged, Batch::kMixed,
                                  Batch::kExtend, Batch::kPads,   Batch::kLong};
    for (int i = 0; i < (selection_.quick ? 1 : 3); ++i) {
      const Batch batch = kBatches[(index + 2 * i) % 6];
      for (const Way way : {Way::kRefresh, Way::kGraph, Way::kWrite}) {
        if (way == Way::kGraph && !kHasGraphs) continue;
        add(draw_way(line, batch, way, selection_.seed, kSmall));
      }
    }
  }

  // Over all kernels every way that rows lose their keys, several times.
  void add_pads(const KernelLine& line) {
    const auto index = static_cast<int>(&line - kKernelLines);
    for (int i = 0; i < (selection_.quick ? 2 : kNumPadTrials); ++i) {
      const PadTrial& trial = kPadTrials[(5 * index + i) % kNumPadTrials];
      add(draw_way(line, trial.batch, trial.way, selection_.seed, kSmall));
    }
  }

  // 64k tokens, one request over the whole device.
  void add_long(const KernelLine& line) {
    Size size = kLarge;
    size.longest = 65536;
    Description d = draw(line, Batch::kLong, selection_.seed, size);
    d.name = name_of(line) + "/64k";
    d.num_kv_heads = 1;
    d.num_workers = selection_.num_workers;
    add(d);
  }

  // Offsets of the last pages pass 2^31 elements.
  void add_huge(const KernelLine& line) {
    if (line.head_size != 128) return;
    Description d = draw(line, Batch::kRagged, selection_.seed, kSmall);
    d.name = name_of(line) + "/huge";
    d.num_kv_heads = 2;
    d.block_stride_pad = 0;
    const int64_t block = int64_t{d.block_size} * d.num_kv_heads * line.head_size;
    d.unused_blocks = (int64_t{1} << 31) / block + 100;
    add(d);
  }

  void add(const Description& description) {
    if (description.name.find(selection_.filter) == std::string::npos) return;
    trials_.push_back(description);
  }

  const Selection& selection_;
  std::vector<Description> trials_;
};

}  // namespace

std::string family_of(const Description& description) {
  if (description.way != Way::kPlan) {
    return description.name.substr(0, description.name.find('/')) + "/" +
           name_of(description.cache);
  }
  return description.name.substr(0, description.name.rfind('/'));
}

std::vector<Description> select_trials(const Selection& selection) {
  return Selecting(selection).all();
}

std::vector<M3Trial> select_m3_trials(const Selection& selection) {
  std::vector<M3Trial> trials;
  for (const Format cache :
       {Format::kBf16, Format::kFp16, Format::kE4m3fn, Format::kE4m3fnuz, Format::kE5m2}) {
    for (const bool shuffle : {false, true}) {
      const std::string family =
          std::string("m3/") + cpu::name_of(cache) + (shuffle ? "/shuffle" : "/plain");
      for (int i = 0; i < (selection.quick ? 1 : 12); ++i) {
        const std::string name = family + "/" + std::to_string(i);
        if (name.find(selection.filter) == std::string::npos) continue;
        const uint64_t seed = 1000 * selection.seed + 10 * static_cast<uint64_t>(cache) +
                              100 * static_cast<uint64_t>(i) + (shuffle ? 1 : 0);
        trials.push_back({name, family, draw_m3(seed, cache, shuffle)});
      }
    }
  }
  return trials;
}

}  // namespace attnplan::hip_test
