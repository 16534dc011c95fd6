// Device memory, graphs and their timing for the bench.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/inputs.h"
#include "hip/runtime.h"

namespace attnplan::hip::bench {

// Throws what the runtime says.
void check(int error, const char* what);

class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) { check(allocate(&data_, bytes), "allocate"); }
  ~Buffer() { release(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

struct Timing {
  double median_us = 0;
  double least_us = 0;
};

class Gpu {
 public:
  Gpu();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Stream stream() const { return stream_; }
  void fill(const Buffer& buffer, size_t bytes, uint32_t seed, Fill fill);
  void copy_in(const Buffer& to, const void* from, size_t bytes);
  void copy_out(void* to, const void* from, size_t bytes);
  void wait();
  void nothing();  // an empty kernel

  // Captures what `work` enqueues and replays it, each time behind a read of more than the L2
  // holds.
  Timing time(int repetitions, const std::function<void()>& work);
  // Bytes read and written a second by copies on the device.
  double copy_bandwidth();

 private:
  double time_once(const std::function<void()>& work);

  Stream stream_ = nullptr;
  Event begin_ = nullptr;
  Event end_ = nullptr;
  Buffer flush_;
  Buffer sink_;
};

}  // namespace attnplan::hip::bench
