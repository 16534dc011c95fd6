// What the sections of a plan have to say of one another, so that no reader passes their ends.
#include "hip/host_plan.h"
#include "planner/section_names.h"

namespace attnplan::hip {
namespace {

constexpr int32_t kMostWorkers = 1 << 16;

Status broken(Error* error, const char* what, int64_t value, int64_t expected) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, value, expected,
                    "plan: %s is %lld, it has to be %lld", what, static_cast<long long>(value),
                    static_cast<long long>(expected));
}

Status outside(Error* error, const char* what, int32_t segment, int64_t value, int64_t limit) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, value, limit,
                    "plan: %s of segment %d is %lld, it has to be in [0, %lld]", what, segment,
                    static_cast<long long>(value), static_cast<long long>(limit));
}

Status check_segment(const attnplan_segment& s, int32_t index, const attnplan_plan_header& h,
                     int64_t starts, Error* error) {
  const struct {
    const char* name;
    int64_t value, limit;
  } figures[] = {{"req_end", s.req_end, h.num_reqs},
                 {"req_begin", s.req_begin, s.req_end},
                 {"row_end", s.row_end, h.num_rows},
                 {"row_begin", s.row_begin, s.row_end},
                 {"max_seq_len", s.max_seq_len, INT32_MAX},
                 {"max_query_len", s.max_query_len, INT32_MAX},
                 {"page_size", s.page_size, h.block_size},
                 // Its elements are one more than its requests.
                 {"query_start_loc_begin", s.query_start_loc_begin,
                  starts >= 0 ? starts - 1 - (int64_t{s.req_end} - s.req_begin) : INT32_MAX}};
  for (const auto& f : figures) {
    if (f.value < 0 || f.value > f.limit) return outside(error, f.name, index, f.value, f.limit);
  }
  return Status::kOk;
}

int64_t count_of(const HostPlan& plan, int32_t id) {
  const attnplan_section* section = plan.find(id);
  return section != nullptr ? section->count : -1;
}

Status check_segments(const HostPlan& plan, Error* error) {
  const attnplan_plan_header& h = plan.header();
  const int64_t count = count_of(plan, ATTNPLAN_SECTION_SEGMENTS);
  if (count < 0) return plan.need(ATTNPLAN_SECTION_SEGMENTS, error);
  if (count != h.num_segments) {
    return broken(error, "the number of segments in the header", h.num_segments, count);
  }
  const int64_t starts = count_of(plan, ATTNPLAN_SECTION_QUERY_START_LOC);
  for (int32_t i = 0; i < h.num_segments; ++i) {
    const auto& segment = plan.host<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS)[i];
    const Status status = check_segment(segment, i, h, starts, error);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

// Elements by requests and rows.
Status check_counts(const HostPlan& plan, Error* error) {
  const attnplan_plan_header& h = plan.header();
  const int64_t requests = h.num_reqs, rows = h.num_rows;
  const struct {
    int32_t id;
    int64_t count;
  } counts[] = {{ATTNPLAN_SECTION_ORDER, requests},
                {ATTNPLAN_SECTION_SEQ_LENS, requests},
                {ATTNPLAN_SECTION_CONTEXT_LENS, requests},
                {ATTNPLAN_SECTION_ROW_REQUEST, rows},
                {ATTNPLAN_SECTION_ROW_POSITION, rows},
                {ATTNPLAN_SECTION_PAGE_INDPTR, requests + 1},
                {ATTNPLAN_SECTION_LAST_PAGE_LEN, requests},
                {ATTNPLAN_SECTION_PAGE_TABLE, requests * h.page_table_width},
                {ATTNPLAN_SECTION_SLOTS, rows},
                {ATTNPLAN_SECTION_CHUNK_SKIP_MERGE, requests},
                {ATTNPLAN_SECTION_WINDOW, 1},
                {ATTNPLAN_SECTION_CONTEXT_PARALLEL, rows},
                {ATTNPLAN_SECTION_LAUNCH, h.num_segments},
                {ATTNPLAN_SECTION_WORK, 1}};
  for (const auto& c : counts) {
    const int64_t found = count_of(plan, c.id);
    if (found < 0 || found == c.count) continue;
    return error->set(Status::kInvalidArgument, Code::kNone, -1, found, c.count,
                      "plan: section %s has %lld elements, it has to have %lld", section_name(c.id),
                      static_cast<long long>(found), static_cast<long long>(c.count));
  }
  return Status::kOk;
}

Status check_work(const HostPlan& plan, Error* error) {
  if (plan.find(ATTNPLAN_SECTION_WORK) == nullptr) return Status::kOk;
  const auto& work = *plan.host<attnplan_work>(ATTNPLAN_SECTION_WORK);
  if (work.workers < 1 || work.workers > kMostWorkers) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, work.workers, kMostWorkers,
                      "plan: its work list has %d workers, it has to have 1 to %d", work.workers,
                      kMostWorkers);
  }
  if (work.num_slots < 0 || work.max_slots < 0) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, work.num_slots, work.max_slots,
                      "plan: its work list has num_slots %d and max_slots %d, which is negative",
                      work.num_slots, work.max_slots);
  }
  const int64_t workers = count_of(plan, ATTNPLAN_SECTION_WORKER_INDPTR);
  if (workers >= 0 && workers != int64_t{work.workers} + 1) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, workers, work.workers,
                      "plan: %d workers with a section worker_indptr of %lld elements",
                      work.workers, static_cast<long long>(workers));
  }
  const int64_t tiles = count_of(plan, ATTNPLAN_SECTION_MERGE_TILES);
  const int64_t indptr = count_of(plan, ATTNPLAN_SECTION_MERGE_INDPTR);
  if (tiles < 0 || indptr < 0 || indptr == tiles + 1) return Status::kOk;
  return broken(error, "the number of elements of section merge_indptr", indptr, tiles + 1);
}

}  // namespace

Status HostPlan::check(Error* error) const {
  const attnplan_plan_header& h = *header_;
  const struct {
    const char* name;
    int32_t value;
  } figures[] = {{"num_reqs", h.num_reqs},         {"num_rows", h.num_rows},
                 {"graph_rows", h.graph_rows},     {"page_table_width", h.page_table_width},
                 {"num_segments", h.num_segments}, {"block_size", h.block_size}};
  for (const auto& f : figures) {
    if (f.value >= 0) continue;
    return error->set(Status::kInvalidArgument, Code::kNone, -1, f.value, 0,
                      "plan: %s in the header is %d, it cannot be negative", f.name, f.value);
  }
  Status status = check_segments(*this, error);
  if (status == Status::kOk) status = check_counts(*this, error);
  if (status == Status::kOk) status = check_work(*this, error);
  return status;
}

}  // namespace attnplan::hip
