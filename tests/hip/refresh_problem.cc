#include "hip/refresh_problem.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "draft_steps.h"
#include "expect_truth.h"
#include "hip/recorded.h"
#include "hip/refresh_device.h"
#include "sections.h"

namespace attnplan::hip_test {
namespace {

using property::Buffer;
using property::Dice;
using refresh::DraftSteps;
using refresh::Outcome;
using refresh::Subject;
using refresh::Tensors;

uint32_t status_bits(const cpu::RefreshFindings& findings) {
  const std::pair<bool, uint32_t> bits[] = {
      {findings.bad_starts, ATTNPLAN_HIP_REFRESH_BAD_STARTS},
      {findings.row_count, ATTNPLAN_HIP_REFRESH_ROW_COUNT},
      {findings.bad_seq_len, ATTNPLAN_HIP_REFRESH_BAD_SEQ_LEN},
      {findings.too_long, ATTNPLAN_HIP_REFRESH_TOO_LONG},
      {findings.capacity, ATTNPLAN_HIP_REFRESH_CAPACITY},
      {findings.chunks, ATTNPLAN_HIP_REFRESH_CHUNKS}};
  uint32_t status = 0;
  for (const auto& [found, bit] : bits) status |= found ? bit : 0;
  return status;
}

// Tiles of the requests whose rows the device splits are those of the list: the C ABI has no other.
// True of all kernels that agree about them, as the module's do.
bool knows_tiles(const Subject& subject) {
  const auto work = refresh::values<attnplan_work>(subject.host_plan, ATTNPLAN_SECTION_WORK);
  const int64_t tile = subject.rules().query_tile;
  return work.empty() || tile == 0 || tile == work[0].query_tile;
}

// The first step from `seed` on that there are plans for.
Subject draw_subject(uint64_t seed) {
  constexpr uint64_t kNext = 1'000'003;
  for (int tries = 0; tries < 100; ++tries, seed += kNext) {
    Subject subject(seed);
    if (subject.planned() && knows_tiles(subject)) return subject;
  }
  throw std::runtime_error("no step can be planned");
}

// The plan on the device, and the same plan on the host, which the twin refreshes.
class Pair {
 public:
  Pair(const RefreshDevice& device, const Buffer& plan, const cpu::RefreshRules& rules)
      : device_(device), twin_(refresh::copy_of(plan)), rules_(rules) {}

  // After the device's refresh: what differs from the twin's; empty: nothing.
  std::string follow(const Tensors& tensors) {
    const auto found = cpu::refresh(refresh::bytes_of(&twin_), tensors.step(), rules_);
    const uint32_t expected = status_bits(found), status = device_.status();
    if (status != expected) {
      return "report is " + std::to_string(status) + ", the twin says " + std::to_string(expected);
    }
    const Buffer plan = device_.plan();
    const auto at = std::mismatch(plan.data(), plan.data() + plan.size(), twin_.data());
    if (at.first != plan.data() + plan.size()) {
      return "byte " + std::to_string(at.first - plan.data()) + " of " +
             std::to_string(plan.size()) + " is " + std::to_string(*at.first) + ", the twin's is " +
             std::to_string(*at.second);
    }
    return device_.touched();
  }
  const Buffer& plan() const { return twin_; }

 private:
  const RefreshDevice& device_;
  Buffer twin_;
  cpu::RefreshRules rules_;
};

class Solving {
 public:
  Verdict solve(RefreshWay way, uint64_t seed) {
    try {
      way == RefreshWay::kDraft ? draft(seed) : subject(way, seed);
    } catch (const std::exception& error) {
      fail("", error.what());
    }
    return verdict_;
  }

 private:
  void subject(RefreshWay way, uint64_t seed) {
    const Subject subject = draw_subject(seed);
    Dice dice(seed ^ 0x9e4e1);
    RefreshDevice device(subject.host, subject.rules(), subject.host_plan, subject.tensors,
                         dice.percent(50));
    Pair pair(device, subject.host_plan, subject.rules());
    const Recorded refreshed([&](hip::Stream stream) { device.refresh(stream); });
    if (way == RefreshWay::kReplay) {
      for (uint64_t other = 1; other <= 3; ++other) {
        const Outcome outcome = subject.another(other);
        if (outcome.plan.size() == 0) continue;
        device.set(outcome.tensors);
        refreshed.run();
        judge("step " + std::to_string(other), subject, outcome, &pair);
      }
      device.set(subject.tensors);
    }
    refreshed.run();
    judge("true lengths", subject, subject.outcome(), &pair);
    const Tensors nonsense = refresh::hostile(subject.tensors, &dice);
    device.set(nonsense);
    refreshed.run();
    fail("lengths that make no sense", pair.follow(nonsense));
  }

  void judge(const std::string& where, const Subject& subject, const Outcome& outcome, Pair* pair) {
    fail(where, pair->follow(outcome.tensors));
    const refresh::Judgement judged = refresh::judge_refreshed(subject, pair->plan(), outcome);
    fail(where, judged.wrong);
    verdict_.judged += judged.compared;
  }

  void draft(uint64_t seed) {
    const DraftSteps steps(seed);
    const Buffer plan = steps.plan(DraftSteps::kSteps);
    if (plan.size() == 0) throw std::runtime_error("the planner refuses the last draft step");
    Tensors tensors = steps.tensors();
    RefreshDevice device(steps.batch(0), steps.rules(), plan, tensors, seed % 2 == 0);
    Pair pair(device, plan, steps.rules());
    const Recorded step_forward([&](hip::Stream stream) {
      device.advance(DraftSteps::kMost, stream);
      device.refresh(stream);
    });
    for (int32_t step = 1; step <= DraftSteps::kSteps; ++step) {
      const std::string where = "draft step " + std::to_string(step);
      step_forward.run();
      tensors.seq_lens = steps.lengths(step);
      if (device.seq_lens() != tensors.seq_lens) fail(where, "advance left other lengths");
      fail(where, pair.follow(tensors));
      fail(where, refresh::judge_draft_step(steps, pair.plan(), step));
      ++verdict_.judged;
    }
  }

  void fail(const std::string& where, const std::string& what) {
    if (what.empty() || verdict_.failures.size() >= 4) return;
    verdict_.failures.push_back(where.empty() ? what : where + ": " + what);
  }

  Verdict verdict_;
};

}  // namespace

const char* name_of(RefreshWay way) {
  constexpr const char* kNames[] = {"plan", "replay", "draft"};
  return kNames[static_cast<int>(way)];
}

Verdict solve_refresh(RefreshWay way, uint64_t seed) { return Solving().solve(way, seed); }

}  // namespace attnplan::hip_test
