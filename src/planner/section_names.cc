#include "planner/section_names.h"

#include <array>
#include <cstddef>

#include "attnplan_plan_format.h"

namespace attnplan {
namespace {

constexpr std::array<const char*, ATTNPLAN_SECTION_END> kSectionNames = {nullptr,
                                                                         "segments",
                                                                         "refusals",
                                                                         "warnings",
                                                                         "order",
                                                                         nullptr,
                                                                         nullptr,
                                                                         nullptr,
                                                                         "query_start_loc",
                                                                         "seq_lens",
                                                                         "context_lens",
                                                                         "row_request",
                                                                         "row_position",
                                                                         "page_indptr",
                                                                         "page_indices",
                                                                         "last_page_len",
                                                                         "page_table",
                                                                         "slots",
                                                                         "chunks",
                                                                         "chunk_list",
                                                                         "chunk_cu_lens",
                                                                         "chunk_skip_merge",
                                                                         "chunk_token_to_request",
                                                                         "window",
                                                                         "window_start",
                                                                         "window_cu_len",
                                                                         "local",
                                                                         "context_parallel",
                                                                         "launch",
                                                                         "work",
                                                                         "work_items",
                                                                         "worker_indptr",
                                                                         "merge_tiles",
                                                                         "merge_indptr",
                                                                         "merge_slots"};

}  // namespace

const char* section_name(int32_t id) {
  const char* found =
      id > 0 && id < ATTNPLAN_SECTION_END ? kSectionNames[static_cast<size_t>(id)] : nullptr;
  return found != nullptr ? found : "?";
}

}  // namespace attnplan
