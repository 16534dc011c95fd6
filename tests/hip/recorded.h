// Calls that take a stream, recorded once and run again and again with what then lies at the
// addresses that they were given: a captured graph on a GPU. The emulation has none and makes the
// same calls anew.
#pragma once

#include <functional>

#include "hip/runtime.h"

namespace attnplan::hip_test {

class Recorded {
 public:
  // Throws std::runtime_error where the runtime refuses, likewise below.
  explicit Recorded(std::function<void(hip::Stream)> calls);
  ~Recorded();
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  // Returns when the device is done.
  void run() const;

 private:
  std::function<void(hip::Stream)> calls_;
  hip::Stream stream_ = nullptr;
  hip::Graph graph_ = nullptr;
};

}  // namespace attnplan::hip_test
