// The work list as JSON.
#include "json/plan_sections.h"

namespace attnplan::json {
namespace {

const char* policy_name(int32_t policy) {
  switch (policy) {
    case ATTNPLAN_WORK_LIST_EQUAL_CHUNKS:
      return "equal_chunks";
    case ATTNPLAN_WORK_LIST_FIXED:
      return "fixed";
    default:
      return "stream_k";
  }
}

}  // namespace

void write_work(const PlanReader& plan, JsonWriter& writer) {
  const attnplan_work& work = plan.section<attnplan_work>(ATTNPLAN_SECTION_WORK)[0];
  writer.key("work");
  writer.begin_object();
  writer.member("policy", policy_name(work.policy));
  writer.member("workers", work.workers);
  writer.key("items");
  writer.begin_array();
  for (const auto& i : plan.section<attnplan_work_item>(ATTNPLAN_SECTION_WORK_ITEMS)) {
    const int32_t item[] = {i.request,  i.kv_head, i.row_begin, i.row_end,
                            i.kv_begin, i.kv_end,  i.slot,      static_cast<int32_t>(i.flags)};
    writer.list(std::span<const int32_t>(item));
  }
  writer.end_array();
  writer.key("worker_indptr");
  writer.list(plan.section<int32_t>(ATTNPLAN_SECTION_WORKER_INDPTR));
  writer.key("merge_tiles");
  writer.begin_array();
  for (const auto& t : plan.section<attnplan_merge_tile>(ATTNPLAN_SECTION_MERGE_TILES)) {
    const int32_t tile[] = {t.request, t.kv_head, t.row_begin, t.row_end};
    writer.list(std::span<const int32_t>(tile));
  }
  writer.end_array();
  writer.key("merge_indptr");
  writer.list(plan.section<int32_t>(ATTNPLAN_SECTION_MERGE_INDPTR));
  writer.key("merge_slots");
  writer.list(plan.section<int32_t>(ATTNPLAN_SECTION_MERGE_SLOTS));
  writer.member("num_slots", work.num_slots);
  writer.member("makespan", work.makespan);
  writer.member("mean", work.mean);
  writer.end_object();
}

}  // namespace attnplan::json
