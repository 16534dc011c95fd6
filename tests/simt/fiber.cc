#include "simt/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

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

// Debian's Boost.Context is built without its own support for the sanitizers, and a
// boost::context::fiber that ends still uses the stack whose last switch was announced. Hence the
// layer below it, and fibers that never end: an idle one waits in run_bodies(), with nothing on its
// stack that would need unwinding, and is dropped there.
namespace attnplan::simt {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::transfer_t;

// Sanitized frames are several times as large.
#if defined(ATTNPLAN_SIMT_ASAN) || defined(ATTNPLAN_SIMT_TSAN)
constexpr size_t kStack = size_t{512} << 10;
#else
constexpr size_t kStack = size_t{128} << 10;
#endif

size_t guard_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

Fiber::Fiber() {
  const size_t guard = guard_size();
  void* memory = mmap(nullptr, guard + kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  mprotect(memory_, guard, PROT_NONE);
  inside_ =
      boost::context::detail::make_fcontext(memory_ + guard + kStack, kStack, [](transfer_t from) {
        Fiber* self = static_cast<Fiber*>(from.data);
        self->outside_ = from.fctx;
        self->run_bodies();
      });
#if defined(ATTNPLAN_SIMT_ASAN)
  ASAN_UNPOISON_MEMORY_REGION(memory_ + guard, kStack);
#elif defined(ATTNPLAN_SIMT_TSAN)
  tsan_inside_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(ATTNPLAN_SIMT_TSAN)
  __tsan_destroy_fiber(tsan_inside_);
#endif
  munmap(memory_, guard_size() + kStack);
}

void Fiber::start(Body body, void* argument) {
  body_ = body;
  argument_ = argument;
}

void Fiber::resume() {
#if defined(ATTNPLAN_SIMT_ASAN)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, memory_ + guard_size(), kStack);
#elif defined(ATTNPLAN_SIMT_TSAN)
  tsan_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
  inside_ = jump_fcontext(inside_, this).fctx;
#if defined(ATTNPLAN_SIMT_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  void* fake_stack = nullptr;
#if defined(ATTNPLAN_SIMT_ASAN)
  __sanitizer_start_switch_fiber(&fake_stack, outer_stack_, outer_size_);
#elif defined(ATTNPLAN_SIMT_TSAN)
  __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
  outside_ = jump_fcontext(outside_, nullptr).fctx;
  arrived_inside(fake_stack);
}

void Fiber::arrived_inside([[maybe_unused]] void* fake_stack) {
#if defined(ATTNPLAN_SIMT_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, &outer_stack_, &outer_size_);
#endif
}

void Fiber::run_bodies() {
  arrived_inside(nullptr);
  while (true) {
    body_(argument_);
    body_ = nullptr;
    suspend();
  }
}

}  // namespace attnplan::simt
