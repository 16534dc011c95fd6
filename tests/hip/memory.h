// Memory of the device under test with guard regions around it, all of it poisoned at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attnplan::hip_test {

class Buffer {
 public:
  // The first byte of the payload is aligned to 64 bytes if asked, else to 16 and no better, so
  // that nothing can rely on more. Throws std::runtime_error where there is no memory.
  enum class Aligned { k16, k64 };
  Buffer(size_t bytes, uint8_t poison, Aligned aligned = Aligned::k16);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* device() const { return start_ + front_; }
  size_t bytes() const { return bytes_; }
  void write(size_t offset, const void* from, size_t bytes);
  std::vector<uint8_t> read(size_t offset, size_t bytes) const;
  // The payload as it was at first.
  void poison();
  // Nobody wrote in front of the payload or behind it.
  bool guards_intact() const;

 private:
  void guard_against_reads(bool on) const;
  std::vector<uint8_t> copy(const uint8_t* from, size_t bytes) const;

  uint8_t* start_ = nullptr;
  size_t front_;
  size_t bytes_;
  uint8_t poison_;
};

}  // namespace attnplan::hip_test
