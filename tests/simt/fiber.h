// A stack and a place in the code that runs on it. Whoever resumes a fiber gets control back when
// it suspends itself or its body ends.
//
// Made of the lower layer of Boost.Context: a boost::context::fiber that ends still uses the stack
// whose last switch AddressSanitizer has been told of. Fibers here never end; an idle one has
// nothing on its stack that would need unwinding, and is dropped there.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#include "simt/sanitizer.h"

namespace attnplan::simt {

class Fiber {
 public:
  using Body = void (*)(void* argument);

  // `number` tells fibers apart that run in turn.
  explicit Fiber(size_t number);
  ~Fiber();  // Only when idle.
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Only when idle: what the next resume() begins. No exception may leave the body.
  void start(Body body, void* argument) {
    body_ = body;
    argument_ = argument;
  }
  bool idle() const { return body_ == nullptr; }

  // Runs the fiber until it suspends, or its body has ended and it is idle. Inline, like suspend():
  // every return after a switch is one that the processor has not predicted.
  void resume() {
    void* const fake_stack = leave(&outer_, inner_);
    inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
    StackIdentity left;
    arrived(fake_stack, &left);
  }
  // Called on the fiber.
  void suspend() {
    void* const fake_stack = leave(&inner_, outer_);
    outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
    arrived(fake_stack, &outer_);
  }

 private:
  static void run(boost::context::detail::transfer_t from);  // where every fiber begins

  std::byte* memory_;        // a guard page, then the stack
  void* inside_;             // where the fiber goes on
  void* outside_ = nullptr;  // where the one who resumed it goes on
  Body body_ = nullptr;
  void* argument_ = nullptr;
  StackIdentity inner_;
  StackIdentity outer_;
};

}  // namespace attnplan::simt
