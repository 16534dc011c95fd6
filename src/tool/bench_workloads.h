// What is timed: planning a batch, and the memory traffic that planning cannot go below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attnplan.h"
#include "tool/bench_inputs.h"

namespace attnplan::tool {

// Something that is done again and again; call i works on input i modulo their number.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual void run(int64_t first, int64_t count) = 0;
};

// Plans through the C ABI into buffers that are already there. Throws std::runtime_error where a
// step cannot be planned.
class PlanWorkload : public Workload {
 public:
  explicit PlanWorkload(const BenchInput& input);
  void run(int64_t first, int64_t count) override;
  size_t max_plan_bytes() const { return plan_bytes_; }  // of all groups together

 private:
  struct Destroy {
    void operator()(attnplan_planner* planner) const { attnplan_planner_destroy(planner); }
    void operator()(attnplan_scratch* scratch) const { attnplan_scratch_destroy(scratch); }
  };
  struct Line {
    alignas(ATTNPLAN_PLAN_ALIGNMENT) unsigned char bytes[ATTNPLAN_PLAN_ALIGNMENT];
  };
  using Buffer = std::vector<Line>;

  void add_planner(const BenchInput& input, int32_t group);
  void size_buffers(const BenchInput& input);

  std::vector<std::unique_ptr<attnplan_planner, Destroy>> owned_;
  std::unique_ptr<attnplan_scratch, Destroy> scratch_;
  std::vector<attnplan_step> steps_;
  std::vector<attnplan_group> groups_;  // one a step
  std::vector<Buffer> buffers_;         // one a planner, likewise below
  std::vector<const attnplan_planner*> planners_;
  std::vector<void*> outputs_;
  std::vector<size_t> capacities_;
  std::vector<size_t> written_;
  size_t plan_bytes_ = 0;
};

// Copies every array of a step once: the least that touching the whole input can cost.
class CopyWorkload : public Workload {
 public:
  explicit CopyWorkload(const BenchInput& input);
  void run(int64_t first, int64_t count) override;

 private:
  const BenchInput& input_;
  std::vector<unsigned char> target_;
};

// Fills as many bytes as a plan takes: the least that writing the whole output can cost.
class FillWorkload : public Workload {
 public:
  explicit FillWorkload(size_t bytes) : target_(bytes) {}
  void run(int64_t first, int64_t count) override;

 private:
  std::vector<unsigned char> target_;
};

}  // namespace attnplan::tool
