// Shared memory of the block that runs: objects by the place that declares them, gone with the
// block, and who may touch what since the last barrier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attnplan::simt {

class SharedMemory {
 public:
  using Make = void (*)(void* memory);

  void begin_block();
  void pass_barrier() { ++epoch_; }
  uint32_t epoch() const { return epoch_; }  // barriers of this block so far, and one
  // The object of this declaration: made where no thread of this block has declared it yet. `key`
  // is the address of anything that belongs to the declaration alone.
  void* object(const void* key, const char* name, size_t size, Make make);
  // Called for each array of the object that is being made.
  void array_made(const void* array) { arrays_.push_back(array); }
  // "array 2 of shared stage", by the order of declaration.
  std::string name_of(const void* array) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Object {
    const void* key;
    const char* name;
    std::unique_ptr<std::byte, Free> memory;
    bool made;  // in this block
    std::vector<const void*> arrays;
  };

  std::vector<Object> objects_;
  std::vector<const void*> arrays_;
  uint32_t epoch_ = 1;
};

// Who touched one element, and when. A thread may read what was written before the last barrier or
// by itself, and write what no other thread has touched since.
struct Shadow {
  uint32_t write_epoch = 0;  // 0: never
  uint32_t read_epoch = 0;
  int16_t writer = -1;
  int16_t reader = -1;
  int16_t other_reader = -1;  // any second one
};

// Of the block that runs; throws outside of a launch.
SharedMemory& shared_memory();

// Fails unless the running thread may do so; the message names `address`'s object and `index`.
void check_shared_load(Shadow* shadow, const void* array, int index);
void check_shared_store(Shadow* shadow, const void* array, int index);
[[noreturn]] void fail_shared_bounds(const void* array, int index, int size);

}  // namespace attnplan::simt
