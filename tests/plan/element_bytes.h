// The size of a section's elements, by its type. The tests' own table: the library's readers have
// another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnplan_plan_format.h"

namespace attnplan {

inline size_t element_bytes(int32_t type) {
  switch (type) {
    case ATTNPLAN_TYPE_INT32:
      return sizeof(int32_t);
    case ATTNPLAN_TYPE_INT64:
      return sizeof(int64_t);
    case ATTNPLAN_TYPE_SEGMENT:
      return sizeof(attnplan_segment);
    case ATTNPLAN_TYPE_REFUSAL:
      return sizeof(attnplan_refusal);
    case ATTNPLAN_TYPE_WARNING:
      return sizeof(attnplan_warning);
    case ATTNPLAN_TYPE_CHUNK_SET:
      return sizeof(attnplan_chunk_set);
    case ATTNPLAN_TYPE_CHUNK:
      return sizeof(attnplan_chunk);
    case ATTNPLAN_TYPE_WINDOW:
      return sizeof(attnplan_window);
    case ATTNPLAN_TYPE_LOCAL_BATCH:
      return sizeof(attnplan_local_batch);
    case ATTNPLAN_TYPE_LAUNCH:
      return sizeof(attnplan_launch);
    case ATTNPLAN_TYPE_WORK:
      return sizeof(attnplan_work);
    case ATTNPLAN_TYPE_WORK_ITEM:
      return sizeof(attnplan_work_item);
    case ATTNPLAN_TYPE_MERGE_TILE:
      return sizeof(attnplan_merge_tile);
    default:
      return 0;
  }
}

}  // namespace attnplan
