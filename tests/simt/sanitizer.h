// What the sanitizers want to hear when a thread changes stacks; nothing in other builds. Debian's
// Boost.Context is built without its own support for them.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTNPLAN_SIMT_ASAN 1
#elif __has_feature(thread_sanitizer)
#define ATTNPLAN_SIMT_TSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ATTNPLAN_SIMT_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define ATTNPLAN_SIMT_TSAN 1
#endif
#if defined(ATTNPLAN_SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(ATTNPLAN_SIMT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace attnplan::simt {

// A stack: fresh ones are told apart by `tsan` alone.
struct StackIdentity {
  const void* bottom = nullptr;
  size_t size = 0;
  void* tsan = nullptr;
};

#if defined(ATTNPLAN_SIMT_ASAN)
constexpr bool kSanitized = true;
inline void stack_made(StackIdentity* stack) {
  ASAN_UNPOISON_MEMORY_REGION(stack->bottom, stack->size);
}
inline void stack_dropped(const StackIdentity&) {}
// Just before the switch. Returns what the side that left hands to `arrived` when it is back.
inline void* leave(StackIdentity*, const StackIdentity& to) {
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, to.bottom, to.size);
  return fake_stack;
}
// Just after: `left` becomes the stack that control came from.
inline void arrived(void* fake_stack, StackIdentity* left) {
  __sanitizer_finish_switch_fiber(fake_stack, &left->bottom, &left->size);
}
#elif defined(ATTNPLAN_SIMT_TSAN)
constexpr bool kSanitized = true;
inline void stack_made(StackIdentity* stack) { stack->tsan = __tsan_create_fiber(0); }
inline void stack_dropped(const StackIdentity& stack) { __tsan_destroy_fiber(stack.tsan); }
inline void* leave(StackIdentity* from, const StackIdentity& to) {
  from->tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsan, 0);
  return nullptr;
}
inline void arrived(void*, StackIdentity*) {}
#else
constexpr bool kSanitized = false;
inline void stack_made(StackIdentity*) {}
inline void stack_dropped(const StackIdentity&) {}
inline void* leave(StackIdentity*, const StackIdentity&) { return nullptr; }
inline void arrived(void*, StackIdentity*) {}
#endif

}  // namespace attnplan::simt
