#include "hip/trials.h"

#include <algorithm>
#include <cstdio>

#include "hip/draw.h"
#include "hip/kv_write_problem.h"
#include "hip/m3_problem.h"
#include "hip/problem.h"
#include "hip/refresh_problem.h"

namespace attnplan::hip_test {
namespace {

constexpr Size kSmall = {4, 200, 30, 1500};
constexpr Size kLarge = {24, 2500, 150, 9000};
constexpr int64_t kMaxRows = 64;  // judged of a large problem

// A problem's family is its kernel: the name up to the batch.
std::string family_of(const Description& description) {
  if (description.way != Way::kPlan) {
    return description.name.substr(0, description.name.find('/')) + "/" +
           name_of(description.cache);
  }
  return description.name.substr(0, description.name.rfind('/'));
}

class Selecting {
 public:
  Selecting(const Selection& selection, std::vector<Trial>* trials)
      : selection_(selection), trials_(trials) {}

  void add_all() {
    for (const KernelLine& line : kKernelLines) {
      for (int b = 0; b < kNumBatches; ++b) add_batch(line, static_cast<Batch>(b));
      add_ways(line);
      add_pads(line);
      if (selection_.quick) continue;
      add_long(line);
      add_huge(line);
    }
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
    if (!selection_.wants(description.name)) return;
    trials_->push_back({description.name, family_of(description), words(description),
                        description.seed, tolerance(description),
                        [description] { return Problem(description).solve(); }});
  }

  const Selection& selection_;
  std::vector<Trial>* trials_;
};

void add_attention_trials(const Selection& selection, std::vector<Trial>* trials) {
  Selecting(selection, trials).add_all();
}

void add_m3_trials(const Selection& selection, std::vector<Trial>* trials) {
  for (const Format cache :
       {Format::kBf16, Format::kFp16, Format::kE4m3fn, Format::kE4m3fnuz, Format::kE5m2}) {
    for (const bool shuffle : {false, true}) {
      const std::string family =
          std::string("m3/") + cpu::name_of(cache) + (shuffle ? "/shuffle" : "/plain");
      for (int i = 0; i < (selection.quick ? 1 : 12); ++i) {
        const std::string name = family + "/" + std::to_string(i);
        if (!selection.wants(name)) continue;
        const M3Description d = draw_m3(1000 * selection.seed + 10 * static_cast<uint64_t>(cache) +
                                            100 * static_cast<uint64_t>(i) + (shuffle ? 1 : 0),
                                        cache, shuffle);
        trials->push_back({name, family, name + ": " + words(d), selection.seed, 0, [d] {
                             Verdict verdict;
                             verdict.failures = solve_m3(d);
                             return verdict;
                           }});
      }
    }
  }
}

void add_refresh_trials(const Selection& selection, std::vector<Trial>* trials) {
  constexpr struct {
    RefreshWay way;
    int all, quick;
  } kCounts[] = {
      {RefreshWay::kPlan, 3000, 60}, {RefreshWay::kReplay, 600, 20}, {RefreshWay::kDraft, 60, 4}};
  constexpr uint64_t kSeeds = 100'000;  // no run draws so many
  for (const auto& count : kCounts) {
    const std::string family = std::string("refresh/") + name_of(count.way);
    for (int i = 0; i < (selection.quick ? count.quick : count.all); ++i) {
      char number[16];
      std::snprintf(number, sizeof number, "/%04d", i);
      const std::string name = family + number;
      if (!selection.wants(name)) continue;
      const uint64_t seed = kSeeds * selection.seed + static_cast<uint64_t>(i);
      trials->push_back({name, family, name + ": random step " + std::to_string(seed),
                         selection.seed, 0,
                         [way = count.way, seed] { return solve_refresh(way, seed); }});
    }
  }
}

void add_kv_write_trials(const Selection& selection, std::vector<Trial>* trials) {
  for (const Format cache :
       {Format::kBf16, Format::kFp16, Format::kE4m3fn, Format::kE4m3fnuz, Format::kE5m2}) {
    for (uint64_t i = 0; i < (selection.quick ? 1 : 3); ++i) {
      size_t index = 0;
      for (KvWriteCase& c : kv_write_cases(cache, selection.seed + i)) {
        if (selection.quick && index++ % 7 != 0) continue;
        c.name = "kv_write/" + c.name;
        if (!selection.wants(c.name)) continue;
        const std::string family = c.name.substr(0, c.name.find('/', c.name.find('/') + 1));
        trials->push_back({c.name, family, words(c), c.seed, 0, [c] { return solve_kv_write(c); }});
      }
    }
  }
}

}  // namespace

std::vector<Trial> select_trials(const Selection& selection) {
  std::vector<Trial> trials;
  add_attention_trials(selection, &trials);
  add_m3_trials(selection, &trials);
  add_refresh_trials(selection, &trials);
  add_kv_write_trials(selection, &trials);
  return trials;
}

}  // namespace attnplan::hip_test
