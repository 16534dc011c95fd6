#include "hip/host_plan.h"

#include <algorithm>

#include "attnplan/plan.h"
#include "versioned.h"

namespace attnplan::hip {
namespace {

Status no_plan(Error* error, const char* why) {
  return error->set(Status::kInvalidArgument, Code::kNone, -1, 0, 0, "plan: %s", why);
}

bool aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % ATTNPLAN_PLAN_ALIGNMENT == 0;
}

bool inside(const attnplan_section& section, size_t bytes) {
  const auto limit = static_cast<int64_t>(bytes);
  if (section.count < 0 || section.capacity < section.count) return false;
  if (section.offset < 0 || section.offset > limit) return false;
  if (section.offset % ATTNPLAN_PLAN_ALIGNMENT != 0) return false;
  // A type of a later version is read by nobody; its room is judged as bytes.
  const int64_t element = std::max<int64_t>(PlanView::element_bytes(section.type), 1);
  return section.capacity <= (limit - section.offset) / element;
}

}  // namespace

Status HostPlan::read(const void* plan, size_t bytes, HostPlan* out, Error* error) {
  if (plan == nullptr) return no_plan(error, "the host's copy is NULL");
  if (!aligned(plan)) return no_plan(error, "the host's copy is not 64-byte aligned");
  const auto* header = static_cast<const attnplan_plan_header*>(plan);
  if (bytes < sizeof *header || header->magic != ATTNPLAN_PLAN_MAGIC) {
    return no_plan(error, "these bytes are no plan");
  }
  if (header->major != ATTNPLAN_PLAN_MAJOR) {
    return error->set(Status::kUnimplemented, Code::kNone, -1, header->major, ATTNPLAN_PLAN_MAJOR,
                      "plan: its format version is not known to this version");
  }
  if (header->header_bytes < sizeof *header || header->total_bytes > bytes ||
      header->num_sections < 0 || header->header_bytes > header->total_bytes) {
    return no_plan(error, "it is cut short");
  }
  const size_t room = header->total_bytes - header->header_bytes;
  if (static_cast<size_t>(header->num_sections) > room / sizeof(attnplan_section)) {
    return no_plan(error, "it is cut short");
  }
  *out = HostPlan();
  out->host_ = static_cast<const std::byte*>(plan);
  out->header_ = header;
  const auto* table = reinterpret_cast<const attnplan_section*>(out->host_ + header->header_bytes);
  for (int32_t i = 0; i < header->num_sections; ++i) {
    const attnplan_section& section = table[i];
    if (section.id <= 0 || section.id >= ATTNPLAN_SECTION_END) continue;
    if (!inside(section, header->total_bytes)) {
      return error->set(Status::kInvalidArgument, Code::kNone, -1, section.id, 0,
                        "plan: section %d lies outside it", section.id);
    }
    out->sections_[section.id] = &section;
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

Status HostPlan::need(int32_t id, const char* name, Error* error) const {
  if (sections_[id] != nullptr) return Status::kOk;
  return error->set(Status::kPlanError, Code::kNone, -1, id, 0,
                    "plan: section %s is missing, ask for it in attnplan_config.sections", name);
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
