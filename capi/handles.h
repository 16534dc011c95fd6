// What the opaque handles of the C ABI hold.
#pragma once

#include <cstdlib>
#include <memory_resource>
#include <new>
#include <vector>

#include "attnplan.h"
#include "attnplan/planner.h"

namespace attnplan {

// The caller's allocator, or malloc and free, as a memory resource.
class HookResource : public std::pmr::memory_resource {
 public:
  explicit HookResource(const attnplan_allocator* hooks) {
    if (hooks != nullptr) hooks_ = *hooks;
  }

 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    void* pointer = nullptr;
    if (hooks_.allocate != nullptr) {
      pointer = hooks_.allocate(hooks_.context, bytes, alignment);
    } else if (alignment <= alignof(std::max_align_t)) {
      pointer = std::malloc(bytes);
    } else {
      pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    if (pointer == nullptr) throw std::bad_alloc();
    return pointer;
  }
  void do_deallocate(void* pointer, size_t bytes, size_t alignment) override {
    if (hooks_.deallocate != nullptr) {
      hooks_.deallocate(hooks_.context, pointer, bytes, alignment);
    } else {
      std::free(pointer);
    }
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  attnplan_allocator hooks_{};
};

}  // namespace attnplan

struct attnplan_planner {
  explicit attnplan_planner(const attnplan_allocator* hooks) : memory(hooks) {}
  attnplan::HookResource memory;
  attnplan::Planner* planner = nullptr;
};

namespace attnplan {

// Arguments of attnplan_plan_build_many in the planner's own types.
struct ManyArguments {
  explicit ManyArguments(std::pmr::memory_resource* memory)
      : planners(memory), groups(memory), outputs(memory), bytes(memory) {}
  void clear() {
    planners.clear();
    groups.clear();
    outputs.clear();
    bytes.clear();
  }
  std::pmr::vector<const Planner*> planners;
  std::pmr::vector<Group> groups;
  std::pmr::vector<Planner::Output> outputs;
  std::pmr::vector<size_t> bytes;
};

}  // namespace attnplan

struct attnplan_scratch {
  explicit attnplan_scratch(const attnplan_allocator* hooks)
      : memory(hooks), scratch(&memory), many(&memory) {}
  attnplan::HookResource memory;
  attnplan::Scratch scratch;
  attnplan::ManyArguments many;
};

namespace attnplan {

// A handle in the caller's own memory.
template <typename Handle>
Handle* create_handle(const attnplan_allocator* hooks) {
  HookResource memory(hooks);
  struct Place {
    ~Place() {
      if (address != nullptr) memory.deallocate(address, sizeof(Handle), alignof(Handle));
    }
    HookResource& memory;
    void* address;
  } place{memory, memory.allocate(sizeof(Handle), alignof(Handle))};
  auto* handle = new (place.address) Handle(hooks);
  place.address = nullptr;
  return handle;
}

template <typename Handle>
void destroy_handle(Handle* handle) {
  HookResource memory = handle->memory;
  handle->~Handle();
  memory.deallocate(handle, sizeof(Handle), alignof(Handle));
}

inline bool half_given(const attnplan_allocator* hooks) {
  return hooks != nullptr && (hooks->allocate == nullptr) != (hooks->deallocate == nullptr);
}

}  // namespace attnplan
