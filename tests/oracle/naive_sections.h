// Section 5 of the planning page once more, formula by formula: every optional list of a plan as
// plain numbers. Quadratic where that is plainer.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "attnplan.h"
#include "naive_plan.h"

namespace attnplan::oracle {

// Stands for a value that only the device knows: the plan must hold its fill, -1.
constexpr int64_t kOnlyTheDeviceKnows = std::numeric_limits<int64_t>::min();

// Stands for a value that no page defines: the tiles of built-in kernels.
constexpr int64_t kAnything = kOnlyTheDeviceKnows + 1;

// One section. Structs are flattened, field after field in the order of the format header.
struct NaiveList {
  int32_t type = ATTNPLAN_TYPE_INT32;
  int32_t extent = ATTNPLAN_EXTENT_OTHER;
  int32_t validity = ATTNPLAN_VALIDITY_EXACT;
  std::vector<int64_t> values;
};

struct NaiveSectionsResult {
  std::optional<NaiveError> error;
  std::map<int32_t, NaiveList> lists;  // by section id: those asked for and those they bring
  int64_t page_table_width = 0;
};

// Sections 8 to 28 of a step that naive_plan() planned into `plan`. The cuts that follow from
// inexact lengths are those of the host's bounds.
NaiveSectionsResult naive_sections(const attnplan_config& config, const attnplan_step& step,
                                   const attnplan_group* group, const NaivePlan& plan);

}  // namespace attnplan::oracle
