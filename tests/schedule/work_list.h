// A plan's work list, read through the accessors.
#pragma once

#include <span>
#include <string>

#include "attnplan.h"
#include "library.h"

namespace attnplan::schedule {

struct WorkList {
  attnplan_work work{};
  std::span<const attnplan_work_item> items;
  std::span<const int32_t> worker_indptr;
  std::span<const attnplan_merge_tile> merge_tiles;
  std::span<const int32_t> merge_indptr;
  std::span<const int32_t> merge_slots;
  std::span<const int32_t> order;  // plan position -> request; empty: the same

  std::span<const attnplan_work_item> items_of(int32_t worker) const;
  std::span<const int32_t> slots_of(size_t tile) const;
};

// Complains of sections that are missing or of another type or shape.
std::string read_work_list(const property::Buffer& plan, WorkList* list);

}  // namespace attnplan::schedule
