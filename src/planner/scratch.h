// Working memory of one plan call. Grows to the largest step it has seen, then stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

#include "attnplan/planner.h"
#include "attnplan_plan_format.h"
#include "planner/lanes.h"
#include "planner/route.h"
#include "planner/work_list.h"

namespace attnplan {

// An uninitialised array that only grows; what it held is lost when it does.
template <typename T>
class GrowArray {
 public:
  explicit GrowArray(std::pmr::memory_resource* memory) : memory_(memory) {}
  ~GrowArray() { release(); }
  GrowArray(const GrowArray&) = delete;
  GrowArray& operator=(const GrowArray&) = delete;

  T* fit(size_t count) {
    if (count > capacity_) grow(count);
    return data_;
  }

 private:
  static constexpr size_t kAlignment = 64;
  void grow(size_t count) {
    const size_t rounded = (count + count / 2 + 63) / 64 * 64;
    release();
    data_ = static_cast<T*>(memory_->allocate(rounded * sizeof(T), kAlignment));
    capacity_ = rounded;
  }
  void release() {
    if (data_ != nullptr) memory_->deallocate(data_, capacity_ * sizeof(T), kAlignment);
    data_ = nullptr;
    capacity_ = 0;
  }
  std::pmr::memory_resource* memory_;
  T* data_ = nullptr;
  size_t capacity_ = 0;
};

struct Scratch::Buffers {
  explicit Buffers(std::pmr::memory_resource* m)
      : memory(m),
        query_lens(m),
        seq_lens(m),
        context_lens(m),
        classes(m),
        clamped_seq_lens(m),
        cut(m),
        inexact(m),
        order(m),
        sort_keys(m),
        sorted(m),
        sorted_inexact(m),
        sorted_cut(m),
        input_starts(m),
        routing(m),
        reasons_by_kernel(m),
        refusals(m),
        segments(m),
        warnings(m),
        chunk_sets(m),
        work(m),
        made_again(m),
        failed_refusals(m),
        failed_requests(m) {}

  std::pmr::memory_resource* memory;
  // In the step's order.
  GrowArray<int32_t> query_lens;
  GrowArray<int32_t> seq_lens;
  GrowArray<int32_t> context_lens;
  GrowArray<int32_t> classes;
  GrowArray<int32_t> clamped_seq_lens;
  GrowArray<uint8_t> cut;
  GrowArray<uint8_t> inexact;
  // In plan order, where that differs.
  GrowArray<int32_t> order;
  GrowArray<uint64_t> sort_keys;
  GrowArray<int32_t> sorted;  // query_lens, seq_lens, context_lens, classes, one after the other
  GrowArray<uint8_t> sorted_inexact;
  GrowArray<uint8_t> sorted_cut;
  GrowArray<int32_t> input_starts;  // [n + 1] first row of each request in the step's order
  RoutingBuffers routing;
  std::pmr::vector<uint32_t> reasons_by_kernel;
  // What goes into the plan.
  std::pmr::vector<attnplan_refusal> refusals;
  std::pmr::vector<attnplan_segment> segments;
  std::pmr::vector<attnplan_warning> warnings;
  std::pmr::vector<attnplan_chunk_set> chunk_sets;
  WorkList work;
  GrowArray<std::byte> made_again;  // a plan to compare with
  std::pmr::vector<std::pair<int32_t, uint32_t>> failed_refusals;
  std::pmr::vector<int32_t> failed_requests;
};

}  // namespace attnplan
