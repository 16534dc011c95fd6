#include "hip/plan_edit.h"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace attnplan::hip_test {
namespace {

// The elements of a section, changed by `edit`, go to the device.
template <class T, class Edit>
void edit_section(const Plan& made, int32_t id, Buffer* plan, Edit edit) {
  const attnplan_section_view view = made.section(id);
  std::vector<T> elements(static_cast<size_t>(view.count));
  if (elements.empty()) return;
  std::memcpy(elements.data(), view.data, elements.size() * sizeof(T));
  edit(&elements);
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(view.data) -
                                          static_cast<const std::byte*>(made.data()));
  plan->write(offset, elements.data(), elements.size() * sizeof(T));
}

template <class T>
void empty_tiles(const Plan& made, int32_t id, const Step& truth, Buffer* plan) {
  edit_section<T>(made, id, plan, [&](std::vector<T>* tiles) {
    for (T& tile : *tiles) {
      if (truth.seq_lens[static_cast<size_t>(tile.request)] == 0) tile.row_end = tile.row_begin;
    }
  });
}

}  // namespace

void write_over(const Plan& before, const Plan& next, Buffer* plan) {
  const auto* const header = attnplan_plan_get_header(next.data(), next.bytes());
  const bool fixed = (header->flags & ATTNPLAN_PLAN_FIXED_LAYOUT) != 0;
  if (!fixed || before.bytes() != next.bytes()) {
    throw std::runtime_error("these plans cannot be copied over each other");
  }
  plan->write(0, before.data(), before.bytes());
  const auto* const blob = static_cast<const std::byte*>(next.data());
  const size_t ranges =
      header->header_bytes + sizeof(attnplan_section) * static_cast<size_t>(header->num_sections);
  for (int32_t i = 0; i < header->num_byte_ranges; ++i) {
    attnplan_byte_range range;
    std::memcpy(&range, blob + ranges + static_cast<size_t>(i) * sizeof range, sizeof range);
    const auto offset = static_cast<size_t>(range.offset);
    plan->write(offset, blob + offset, static_cast<size_t>(range.bytes));
  }
}

void take_tokens(const Plan& made, const Step& truth, Buffer* plan) {
  for (const int32_t id : {ATTNPLAN_SECTION_SEQ_LENS, ATTNPLAN_SECTION_CONTEXT_LENS}) {
    edit_section<int32_t>(made, id, plan, [&](std::vector<int32_t>* lengths) {
      for (size_t r = 0; r < lengths->size(); ++r) {
        if (truth.seq_lens[r] == 0) (*lengths)[r] = 0;
      }
    });
  }
  empty_tiles<attnplan_work_item>(made, ATTNPLAN_SECTION_WORK_ITEMS, truth, plan);
  empty_tiles<attnplan_merge_tile>(made, ATTNPLAN_SECTION_MERGE_TILES, truth, plan);
}

}  // namespace attnplan::hip_test
