// Reads a plan blob by its published format, trusting nothing: whatever does not lie inside the
// blob is reported and not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attnplan_plan_format.h"

namespace attnplan::cpu {

struct PlanView {
  const attnplan_plan_header* header = nullptr;
  std::span<const attnplan_segment> segments;
  std::span<const attnplan_warning> warnings;
  std::span<const int32_t> order;  // empty unless the plan is sorted
  // Empty where the plan does not carry the section or leaves it to the device.
  std::span<const int32_t> query_start_loc;
  std::span<const int32_t> seq_lens;
  std::span<const int32_t> row_request;
  std::span<const int32_t> row_position;
};

// Nothing and a sentence in `problem` where the blob is no plan or contradicts itself.
std::optional<PlanView> read_plan(const void* plan, size_t plan_bytes, std::string& problem);

}  // namespace attnplan::cpu
