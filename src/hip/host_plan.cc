#include "hip/host_plan.h"

#include <algorithm>

#include "attnplan/plan.h"
#include "planner/section_names.h"
#include "planner/section_shapes.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

Status no_plan(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "plan: %s", why);
}

bool aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % ATTNPLAN_PLAN_ALIGNMENT == 0;
}

// Of the section table and the byte ranges behind it.
uint64_t table_end(const attnplan_plan_header& h) {
  return h.header_bytes + static_cast<uint64_t>(h.num_sections) * sizeof(attnplan_section) +
         static_cast<uint64_t>(h.num_byte_ranges) * sizeof(attnplan_byte_range);
}

// `begin`: the end of the tables.
bool inside(const attnplan_section& section, uint64_t begin, uint64_t end) {
  if (section.count < 0 || section.capacity < section.count || section.offset < 0) return false;
  const auto offset = static_cast<uint64_t>(section.offset);
  if (offset > end || offset % ATTNPLAN_PLAN_ALIGNMENT != 0) return false;
  if (section.capacity > 0 && offset < begin) return false;
  // A type of a later version is read by nobody; its room is judged as bytes.
  const auto element =
      static_cast<uint64_t>(std::max<int64_t>(PlanView::element_bytes(section.type), 1));
  return static_cast<uint64_t>(section.capacity) <= (end - offset) / element;
}

Status check_front(const attnplan_plan_header& h, size_t bytes, Error* error) {
  if (h.magic != ATTNPLAN_PLAN_MAGIC) return no_plan(error, "these bytes are no plan");
  if (h.major != ATTNPLAN_PLAN_MAJOR) {
    return error->set(Status::kUnimplemented, Code::kNone, -1, h.major, ATTNPLAN_PLAN_MAJOR,
                      "plan: its format version is not known to this version");
  }
  if (h.header_bytes < sizeof h || h.header_bytes % alignof(attnplan_section) != 0) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, h.header_bytes, sizeof h,
                      "plan: header_bytes is %u, it has to be a multiple of 8 from %zu on",
                      h.header_bytes, sizeof h);
  }
  const bool cut = h.total_bytes > bytes || h.num_sections < 0 || h.num_byte_ranges < 0 ||
                   table_end(h) > h.total_bytes;
  return cut ? no_plan(error, "it is cut short") : Status::kOk;
}

}  // namespace

Status HostPlan::read(const void* plan, size_t bytes, HostPlan* out, Error* error) {
  if (plan == nullptr) return no_plan(error, "the host's copy is NULL");
  if (!aligned(plan)) return no_plan(error, "the host's copy is not 64-byte aligned");
  const auto* header = static_cast<const attnplan_plan_header*>(plan);
  if (bytes < sizeof *header) return no_plan(error, "these bytes are no plan");
  Status status = check_front(*header, bytes, error);
  if (status != Status::kOk) return status;
  *out = HostPlan();
  out->host_ = static_cast<const std::byte*>(plan);
  out->header_ = header;
  status = out->read_table(error);
  return status == Status::kOk ? out->check(error) : status;
}

Status HostPlan::read_table(Error* error) {
  const auto* table = reinterpret_cast<const attnplan_section*>(host_ + header_->header_bytes);
  for (int32_t i = 0; i < header_->num_sections; ++i) {
    const attnplan_section& section = table[i];
    const SectionShape* shape = section_shape(section.id);
    if (shape == nullptr) continue;
    const char* wrong = nullptr;
    if (section.type != shape->type) {
      wrong = "is of another type";
    } else if (sections_[section.id] != nullptr) {
      wrong = "is there twice";
    } else if (!inside(section, table_end(*header_), header_->total_bytes)) {
      wrong = "lies outside it";
    }
    if (wrong != nullptr) {
      return error->set(Status::kInvalidArgument, Code::kNone, -1, section.id, 0,
                        "plan: section %s %s", section_name(section.id), wrong);
    }
    sections_[section.id] = &section;
  }
  return Status::kOk;
}

Status HostPlan::read(const attnplan_hip_plan* given, HostPlan* out, Error* error) {
  attnplan_hip_plan copy;
  const attnplan_hip_plan* plan;
  Status status = read_struct(given, &copy, &plan, "attnplan_hip_plan", error);
  if (status == Status::kOk) status = read(plan->host, plan->bytes, out, error);
  if (status != Status::kOk) return status;
  if (plan->device == nullptr) return no_plan(error, "the device's copy is NULL");
  if (!aligned(plan->device)) return no_plan(error, "the device's copy is not 64-byte aligned");
  out->device_ = static_cast<std::byte*>(plan->device);
  return Status::kOk;
}

Status HostPlan::need(int32_t id, Error* error) const {
  if (sections_[id] != nullptr) return Status::kOk;
  const bool work = id >= ATTNPLAN_SECTION_WORK && id <= ATTNPLAN_SECTION_MERGE_SLOTS;
  const bool always = id < ATTNPLAN_SECTION_ORDER;
  return error->set(Status::kPlanError, Code::kNone, -1, id, 0, "plan: section %s is missing, %s",
                    section_name(id),
                    work     ? "ask for a work list with attnplan_config.work"
                    : always ? "which every plan has"
                             : "ask for it in attnplan_config.sections");
}

bool HostPlan::no_segments() const {
  const attnplan_section* section = sections_[ATTNPLAN_SECTION_SEGMENTS];
  return section != nullptr && section->count == 0;
}

Status HostPlan::segment(int32_t index, attnplan_segment* segment, Error* error) const {
  const attnplan_section* section = sections_[ATTNPLAN_SECTION_SEGMENTS];
  const int64_t count = section != nullptr ? section->count : 0;
  *segment = {};
  if (index == 0 && no_segments()) return Status::kOk;
  if (index < 0 || index >= count) {
    return error->set(Status::kInvalidArgument, Code::kNone, -1, index, count,
                      "segment is %d, the plan has %lld", index, static_cast<long long>(count));
  }
  *segment = host<attnplan_segment>(ATTNPLAN_SECTION_SEGMENTS)[index];
  return Status::kOk;
}

}  // namespace attnplan::hip
