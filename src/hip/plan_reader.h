// A plan blob on the device: where its sections lie. A block reads the section table once, into
// shared memory; then a section id gives pointer, elements in use and room. Blobs that reach a
// kernel were made or verified on the host, so offsets are trusted; capacities are what every
// writer keeps to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnplan_plan_format.h"
#include "hip/wave.h"

namespace attnplan::hip {

// Part of a kernel's shared memory.
struct PlanTable {
  SharedArray<int64_t, ATTNPLAN_SECTION_END> offset;  // 0: the plan has no such section
  SharedArray<int64_t, ATTNPLAN_SECTION_END> count;
  SharedArray<int64_t, ATTNPLAN_SECTION_END> capacity;
  SharedArray<int32_t, ATTNPLAN_SECTION_END> entry;  // number in the section table
};

template <class T>
struct Section {
  T* data;           // null: the plan has no such section, or no room for it
  int64_t count;     // as it was when the table was read
  int64_t capacity;  // elements

  ATTNPLAN_DEVICE explicit operator bool() const { return data != nullptr; }
  ATTNPLAN_DEVICE bool holds(int64_t index) const { return index >= 0 && index < capacity; }
  // Nothing where the section is not there or the index lies behind its room.
  ATTNPLAN_DEVICE void put(int64_t index, T value) const {
    if (data != nullptr && holds(index)) data[index] = value;
  }
};

class PlanReader {
 public:
  // All threads of the block; `table` is the block's. Ends with a barrier.
  ATTNPLAN_DEVICE PlanReader(void* plan, PlanTable* table)
      : plan_(static_cast<std::byte*>(plan)), table_(table) {
    for (int id = thread_index(); id < ATTNPLAN_SECTION_END; id += block_threads()) {
      table->offset.store(id, 0);
      table->count.store(id, 0);
      table->capacity.store(id, 0);
      table->entry.store(id, 0);
    }
    block_barrier();
    for (int i = thread_index(); i < header().num_sections; i += block_threads()) {
      const attnplan_section section = entries()[i];
      if (section.id <= 0 || section.id >= ATTNPLAN_SECTION_END) continue;
      table->offset.store(section.id, section.capacity > 0 ? section.offset : 0);
      table->count.store(section.id, section.count);
      table->capacity.store(section.id, section.capacity);
      table->entry.store(section.id, i);
    }
    block_barrier();
  }

  ATTNPLAN_DEVICE attnplan_plan_header& header() const {
    return *reinterpret_cast<attnplan_plan_header*>(plan_);
  }

  template <class T>
  ATTNPLAN_DEVICE Section<T> find(int32_t id) const {
    const int64_t offset = table_->offset.load(id);
    if (offset == 0) return {nullptr, 0, 0};
    return {reinterpret_cast<T*>(plan_ + offset), table_->count.load(id),
            table_->capacity.load(id)};
  }

  // By one thread. Readers that opened the plan before go on with the old count.
  ATTNPLAN_DEVICE void set_count(int32_t id, int64_t count) const {
    if (table_->offset.load(id) != 0) entries()[table_->entry.load(id)].count = count;
  }

 private:
  ATTNPLAN_DEVICE attnplan_section* entries() const {
    return reinterpret_cast<attnplan_section*>(plan_ + header().header_bytes);
  }

  std::byte* plan_;
  PlanTable* table_;
};

}  // namespace attnplan::hip
