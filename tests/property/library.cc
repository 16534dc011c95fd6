#include "library.h"

#include <algorithm>

namespace attnplan::property {

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, ATTNPLAN_PLAN_ALIGNMENT, bytes) != 0) std::abort();
  memory_.reset(static_cast<uint8_t*>(pointer));
  std::memset(pointer, kFill, bytes);
}

bool Buffer::untouched() const {
  return std::all_of(data(), data() + bytes_, [](uint8_t byte) { return byte == kFill; });
}

bool Buffer::operator==(const Buffer& other) const {
  return bytes_ == other.bytes_ && std::memcmp(data(), other.data(), bytes_) == 0;
}

Error::Error(size_t requests, size_t kernels) : refusals_(kernels), requests_(requests) {
  error_.refusals = refusals_.data();
  error_.requests = requests_.data();
  error_.refusals_capacity = static_cast<int32_t>(kernels);
  error_.requests_capacity = static_cast<int32_t>(requests);
}

std::span<const attnplan_refusal> Error::refusals() const {
  return std::span(refusals_).first(static_cast<size_t>(error_.num_refusals));
}

std::span<const int32_t> Error::requests() const {
  return std::span(requests_).first(static_cast<size_t>(error_.num_requests));
}

Planner create_planner(const attnplan_config& config, Error* error) {
  attnplan_planner* planner = nullptr;
  attnplan_planner_create(&config, &planner, error->get());
  return Planner(planner);
}

Scratch create_scratch() {
  attnplan_scratch* scratch = nullptr;
  attnplan_scratch_create(nullptr, &scratch, nullptr);
  return Scratch(scratch);
}

Buffer build(const attnplan_planner* planner, attnplan_scratch* scratch, const attnplan_step& step,
             const attnplan_group* group, Error* error) {
  size_t bytes = 0;
  if (attnplan_plan_size(planner, scratch, &step, group, &bytes, error->get()) != ATTNPLAN_OK) {
    return Buffer();
  }
  Buffer plan(bytes);
  size_t written = 0;
  const attnplan_status status = attnplan_plan_build(planner, scratch, &step, group, plan.data(),
                                                     plan.size(), &written, error->get());
  return status == ATTNPLAN_OK && written == bytes ? std::move(plan) : Buffer();
}

const attnplan_plan_header& header_of(const Buffer& plan) {
  static const attnplan_plan_header kNone = {};
  const attnplan_plan_header* header = attnplan_plan_get_header(plan.data(), plan.size());
  return header == nullptr ? kNone : *header;
}

std::span<const attnplan_segment> segments_of(const Buffer& plan) {
  const attnplan_segment* segments = attnplan_plan_get_segments(plan.data(), plan.size());
  if (segments == nullptr) return {};
  return {segments, static_cast<size_t>(header_of(plan).num_segments)};
}

attnplan_section_view section_of(const Buffer& plan, int32_t section) {
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  attnplan_plan_get_section(plan.data(), plan.size(), section, &view, nullptr);
  return view;
}

std::span<const int32_t> int32_section(const Buffer& plan, int32_t section) {
  const attnplan_section_view view = section_of(plan, section);
  return {static_cast<const int32_t*>(view.data), static_cast<size_t>(view.count)};
}

std::span<const attnplan_refusal> refusals_of(const Buffer& plan, const attnplan_segment& segment) {
  const attnplan_section_view view = section_of(plan, ATTNPLAN_SECTION_REFUSALS);
  const std::span all(static_cast<const attnplan_refusal*>(view.data),
                      static_cast<size_t>(view.count));
  return all.subspan(static_cast<size_t>(segment.refusal_begin),
                     static_cast<size_t>(segment.refusal_end - segment.refusal_begin));
}

}  // namespace attnplan::property
