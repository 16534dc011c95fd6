// Turns the fuzzer's bytes into values, and keeps what it hands out in heap blocks of exactly the
// promised size, so that a sanitizer sees the first byte read too far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace attnplan::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  // Zeros where the input has ended.
  template <typename T>
  T take() {
    T value{};
    const size_t bytes = sizeof(T) < left_ ? sizeof(T) : left_;
    if (bytes > 0) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }

  uint32_t below(uint32_t limit) { return take<uint8_t>() % limit; }
  bool one_in(uint32_t count) { return below(count) == count - 1; }

  // Mostly a small number, at times one of the whole range.
  int32_t length() {
    const uint8_t first = take<uint8_t>();
    if (first < 200) return first % 20;
    if (first < 240) return first * (1 + take<uint8_t>());
    return take<int32_t>();
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Blocks that live as long as this object.
class Heap {
 public:
  // `bytes` bytes, of which the first `used` are copied from `from` and the rest are `fill`.
  void* block(const void* from, size_t used, size_t bytes, uint8_t fill) {
    blocks_.emplace_back(new uint8_t[bytes]);
    uint8_t* block = blocks_.back().get();
    std::memset(block, fill, bytes);
    if (used > 0) std::memcpy(block, from, used < bytes ? used : bytes);
    return block;
  }

  // An exact copy; never null, even of nothing.
  template <typename T>
  T* copy(const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    return static_cast<T*>(block(values.data(), bytes, bytes, 0));
  }

  // A struct that may grow, cut or extended to `struct_size` bytes as another release would have
  // it. What is extended is zero, or, for a release with a request that this one does not know,
  // `tail`.
  template <typename T>
  T* versioned(T value, size_t struct_size, uint8_t tail) {
    if (struct_size < sizeof(size_t)) struct_size = sizeof(size_t);
    std::memcpy(&value, &struct_size, sizeof(struct_size));  // struct_size comes first
    return static_cast<T*>(block(&value, sizeof(T), struct_size, tail));
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
};

}  // namespace attnplan::fuzz
