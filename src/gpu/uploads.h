// Memory of the device that is filled once and released together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device.h"

namespace attnplan::gpu {

class Uploads {
 public:
  explicit Uploads(Memory& memory) : memory_(memory) {}
  ~Uploads() {
    for (void* address : owned_) memory_.release(address);
  }
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  Memory& memory() const { return memory_; }
  void* add(const std::vector<uint8_t>& bytes) {
    owned_.push_back(memory_.allocate(std::max<size_t>(bytes.size(), 1)));
    if (!bytes.empty()) memory_.upload(owned_.back(), bytes.data(), bytes.size());
    return owned_.back();
  }

 private:
  Memory& memory_;
  std::vector<void*> owned_;
};

}  // namespace attnplan::gpu
