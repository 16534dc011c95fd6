#include "blob_reader.h"

#include <vector>

#include "everything.h"

namespace attnplan::plan {
namespace {

volatile uint8_t g_sink = 0;

// A view that reaches out of the blob is a complaint; one that does not is read.
bool touch(const uint8_t* plan, size_t bytes, const void* data, int64_t count, size_t width) {
  if (count == 0) return true;
  if (data == nullptr || count < 0 || width == 0) return false;
  const auto begin = reinterpret_cast<uintptr_t>(data), first = reinterpret_cast<uintptr_t>(plan);
  if (begin < first || begin > first + bytes) return false;
  const size_t left = bytes - (begin - first);
  if (static_cast<uint64_t>(count) > left / width) return false;
  uint8_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(count) * width; ++i) {
    sum ^= static_cast<const uint8_t*>(data)[i];
  }
  g_sink = sum;
  return true;
}

std::string read_sections(const uint8_t* plan, size_t bytes) {
  for (int32_t id = -1; id <= ATTNPLAN_SECTION_END; ++id) {
    attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
    if (attnplan_plan_get_section(plan, bytes, id, &view, nullptr) != ATTNPLAN_OK) continue;
    const size_t width = element_bytes(view.type);
    if (width == 0) continue;  // of a type that this reader does not know
    if (view.count > view.capacity) return "section " + std::to_string(id) + " over its capacity";
    if (!touch(plan, bytes, view.data, view.capacity, width)) {
      return "section " + std::to_string(id) + " out of bounds";
    }
  }
  return "";
}

void explain(const uint8_t* plan, size_t bytes, const attnplan_planner* planner,
             const attnplan_step* step) {
  std::vector<int32_t> routes(static_cast<size_t>(step->num_reqs));
  attnplan_plan_get_routes(plan, bytes, step, routes.data(), nullptr);
  size_t length = 0;
  if (attnplan_plan_explain(planner, step, plan, bytes, nullptr, &length, nullptr) != ATTNPLAN_OK) {
    return;
  }
  std::vector<char> text(length);
  attnplan_plan_explain(planner, step, plan, bytes, text.data(), &length, nullptr);
}

}  // namespace

std::string read_blob(const uint8_t* plan, size_t bytes, const attnplan_planner* planner,
                      const attnplan_step* step) {
  const attnplan_plan_header* header = attnplan_plan_get_header(plan, bytes);
  if (header == nullptr) return "";
  const attnplan_segment* segments = attnplan_plan_get_segments(plan, bytes);
  if (segments != nullptr &&
      !touch(plan, bytes, segments, header->num_segments, sizeof(attnplan_segment))) {
    return "segments out of bounds";
  }
  const std::string wrong = read_sections(plan, bytes);
  if (wrong.empty() && planner != nullptr && step != nullptr) explain(plan, bytes, planner, step);
  return wrong;
}

}  // namespace attnplan::plan
