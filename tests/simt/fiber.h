// A stack and a place in the code that runs on it. Whoever resumes a fiber gets control back when
// it suspends itself or its body ends.
#pragma once

#include <cstddef>

namespace attnplan::simt {

class Fiber {
 public:
  using Body = void (*)(void* argument);

  Fiber();
  ~Fiber();  // Only when idle.
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Only when idle: what the next resume() begins. No exception may leave the body.
  void start(Body body, void* argument);
  // Runs the fiber until it suspends, or its body has ended and it is idle.
  void resume();
  // Called on the fiber.
  void suspend();

  bool idle() const { return body_ == nullptr; }

 private:
  void run_bodies();  // where every fiber begins
  void arrived_inside(void* fake_stack);

  std::byte* memory_;        // a guard page, then the stack
  void* inside_;             // where the fiber goes on
  void* outside_ = nullptr;  // where the one who resumed it goes on
  Body body_ = nullptr;
  void* argument_ = nullptr;
  // What the sanitizers want to hear about at a switch.
  const void* outer_stack_ = nullptr;
  size_t outer_size_ = 0;
  void* tsan_inside_ = nullptr;
  void* tsan_outside_ = nullptr;
};

}  // namespace attnplan::simt
