// Builds plan blobs by hand, right and wrong ones: what a planner would never say can be forced
// upon the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnplan.h"

namespace attnplan::cpu {

class PlanBuilder {
 public:
  PlanBuilder(int32_t num_reqs, int32_t num_rows);

  // A segment with its measured figures left at 0; the fields that matter can be set on it.
  attnplan_segment& segment(int32_t route, int32_t req_begin, int32_t req_end, int32_t row_begin,
                            int32_t row_end, int32_t width = 0);
  PlanBuilder& warn_clamped(int32_t request, int64_t value, int64_t limit);
  PlanBuilder& order(std::vector<int32_t> order);
  PlanBuilder& ints(int32_t section, std::vector<int32_t> values);
  PlanBuilder& full_graph(int32_t rows, int32_t requests, int32_t width);

  // The plan as it stands; valid until the next call.
  std::span<const std::byte> blob();

 private:
  struct alignas(ATTNPLAN_PLAN_ALIGNMENT) Line {
    std::byte bytes[ATTNPLAN_PLAN_ALIGNMENT];
  };
  std::byte* start() { return reinterpret_cast<std::byte*>(blob_.data()); }
  size_t bytes() const { return blob_.size() * sizeof(Line); }
  struct Ints {
    int32_t id;
    std::vector<int32_t> values;
  };
  void append(int32_t id, int32_t type, const void* data, size_t count, size_t size,
              size_t section_index);

  attnplan_plan_header header_{};
  std::vector<attnplan_segment> segments_;
  std::vector<attnplan_warning> warnings_;
  std::vector<Ints> ints_;
  std::vector<Line> blob_;
};

// The step of given lengths; the arrays must outlive it.
struct Batch {
  std::vector<int32_t> query_lens;
  std::vector<int32_t> seq_lens;

  attnplan_step step() const;
  int32_t requests() const { return static_cast<int32_t>(query_lens.size()); }
  int32_t rows() const;
};

// One segment over the whole batch.
PlanBuilder one_segment(const Batch& batch, int32_t route, int32_t width = 0);

}  // namespace attnplan::cpu
