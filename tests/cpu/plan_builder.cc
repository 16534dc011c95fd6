#include "plan_builder.h"

#include <cstring>
#include <numeric>
#include <utility>

namespace attnplan::cpu {

PlanBuilder::PlanBuilder(int32_t num_reqs, int32_t num_rows) {
  header_.magic = ATTNPLAN_PLAN_MAGIC;
  header_.major = ATTNPLAN_PLAN_MAJOR;
  header_.minor = ATTNPLAN_PLAN_MINOR;
  header_.header_bytes = sizeof(attnplan_plan_header);
  header_.num_reqs = num_reqs;
  header_.num_rows = num_rows;
}

attnplan_segment& PlanBuilder::segment(int32_t route, int32_t req_begin, int32_t req_end,
                                       int32_t row_begin, int32_t row_end, int32_t width) {
  attnplan_segment segment{};
  segment.route = route;
  segment.req_begin = req_begin;
  segment.req_end = req_end;
  segment.row_begin = row_begin;
  segment.row_end = row_end;
  segment.width = width;
  segment.max_query_len = width;
  segments_.push_back(segment);
  return segments_.back();
}

PlanBuilder& PlanBuilder::warn_clamped(int32_t request, int64_t value, int64_t limit) {
  warnings_.push_back({ATTNPLAN_CODE_SEQ_LEN_CLAMPED, request, value, limit});
  return *this;
}

PlanBuilder& PlanBuilder::order(std::vector<int32_t> order) {
  header_.flags |= ATTNPLAN_PLAN_SORTED;
  return ints(ATTNPLAN_SECTION_ORDER, std::move(order));
}

PlanBuilder& PlanBuilder::ints(int32_t section, std::vector<int32_t> values) {
  ints_.push_back({section, std::move(values)});
  return *this;
}

PlanBuilder& PlanBuilder::full_graph(int32_t rows, int32_t requests, int32_t width) {
  header_.flags |= ATTNPLAN_PLAN_HAS_GRAPH;
  header_.graph_kind = 2;
  header_.graph_rows = rows;
  header_.graph_requests = requests;
  header_.graph_width = width;
  return *this;
}

void PlanBuilder::append(int32_t id, int32_t type, const void* data, size_t count, size_t size,
                         size_t section_index) {
  const size_t offset = bytes();
  blob_.resize(blob_.size() + (count * size + sizeof(Line) - 1) / sizeof(Line));
  if (count > 0) std::memcpy(start() + offset, data, count * size);
  attnplan_section section{};
  section.id = id;
  section.type = static_cast<uint16_t>(type);
  section.validity = ATTNPLAN_VALIDITY_EXACT;
  section.offset = static_cast<int64_t>(offset);
  section.count = section.capacity = static_cast<int64_t>(count);
  std::memcpy(start() + sizeof(header_) + section_index * sizeof(section), &section,
              sizeof(section));
}

std::span<const std::byte> PlanBuilder::blob() {
  const size_t sections = 2 + ints_.size();
  const size_t front = sizeof(header_) + sections * sizeof(attnplan_section);
  blob_.assign((front + sizeof(Line) - 1) / sizeof(Line), Line{});
  append(ATTNPLAN_SECTION_SEGMENTS, ATTNPLAN_TYPE_SEGMENT, segments_.data(), segments_.size(),
         sizeof(attnplan_segment), 0);
  append(ATTNPLAN_SECTION_WARNINGS, ATTNPLAN_TYPE_WARNING, warnings_.data(), warnings_.size(),
         sizeof(attnplan_warning), 1);
  for (size_t i = 0; i < ints_.size(); ++i) {
    append(ints_[i].id, ATTNPLAN_TYPE_INT32, ints_[i].values.data(), ints_[i].values.size(),
           sizeof(int32_t), 2 + i);
  }
  header_.num_sections = static_cast<int32_t>(sections);
  header_.num_segments = static_cast<int32_t>(segments_.size());
  header_.total_bytes = bytes();
  std::memcpy(start(), &header_, sizeof(header_));
  return {start(), bytes()};
}

attnplan_step Batch::step() const {
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = query_lens.data();
  step.seq_lens = seq_lens.data();
  step.num_reqs = requests();
  return step;
}

int32_t Batch::rows() const { return std::accumulate(query_lens.begin(), query_lens.end(), 0); }

PlanBuilder one_segment(const Batch& batch, int32_t route, int32_t width) {
  PlanBuilder plan(batch.requests(), batch.rows());
  plan.segment(route, 0, batch.requests(), 0, batch.rows(), width);
  return plan;
}

}  // namespace attnplan::cpu
