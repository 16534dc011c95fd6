#include "simt/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace attnplan::simt {
namespace {

// Sanitized frames are several times as large.
constexpr size_t kStack = size_t{kSanitized ? 512 : 128} << 10;

size_t guard_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

Fiber::Fiber(size_t number) {
  const size_t guard = guard_size();
  void* memory = mmap(nullptr, guard + kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  mprotect(memory_, guard, PROT_NONE);
  inner_.bottom = memory_ + guard;
  inner_.size = kStack;
  stack_made(&inner_);
  // Stacks that all begin at the same place of a page would compete for the same lines of a cache.
  const size_t offset = number * 7 % 64 * 64;
  inside_ = boost::context::detail::make_fcontext(memory_ + guard + kStack - offset,
                                                  kStack - offset, run);
}

Fiber::~Fiber() {
  stack_dropped(inner_);
  munmap(memory_, guard_size() + kStack);
}

void Fiber::run(boost::context::detail::transfer_t from) {
  auto* const self = static_cast<Fiber*>(from.data);
  self->outside_ = from.fctx;
  arrived(nullptr, &self->outer_);
  while (true) {
    self->body_(self->argument_);
    self->body_ = nullptr;
    self->suspend();
  }
}

}  // namespace attnplan::simt
