#include "simt/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "simt/machine.h"

namespace attnplan::simt {
namespace {

constexpr std::align_val_t kAlignment{64};

std::string element(const void* array, int index) {
  return "element " + std::to_string(index) + " of " + shared_memory().name_of(array);
}

std::string thread(int number) { return "thread " + std::to_string(number); }

}  // namespace

void SharedMemory::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, kAlignment);
}

void SharedMemory::begin_block() {
  epoch_ = 1;
  for (Object& object : objects_) object.made = false;
}

void* SharedMemory::object(const void* key, const char* name, size_t size, Make make) {
  auto found = std::find_if(objects_.begin(), objects_.end(),
                            [key](const Object& object) { return object.key == key; });
  if (found == objects_.end()) {
    auto* memory = static_cast<std::byte*>(::operator new(size, kAlignment));
    objects_.push_back({key, name, std::unique_ptr<std::byte, Free>(memory), false, {}});
    found = objects_.end() - 1;
  }
  if (!found->made) {
    std::memset(found->memory.get(), 0xff, size);  // NaN, for members without a shadow
    arrays_.clear();
    make(found->memory.get());
    found->arrays = arrays_;
    found->made = true;
  }
  return found->memory.get();
}

std::string SharedMemory::name_of(const void* array) const {
  for (const Object& object : objects_) {
    const auto at = std::find(object.arrays.begin(), object.arrays.end(), array);
    if (!object.made || at == object.arrays.end()) continue;
    std::string name = std::string("shared ") + object.name;
    if (object.arrays.size() == 1) return name;
    return "array " + std::to_string(at - object.arrays.begin()) + " of " + name;
  }
  return "a SharedArray outside of ATTNPLAN_SHARED";
}

void check_shared_load(Shadow* shadow, const void* array, int index) {
  const uint32_t epoch = shared_memory().epoch();
  const auto me = static_cast<int16_t>(current_thread());
  if (shadow->write_epoch == 0) fail("reads " + element(array, index) + ", which nobody wrote");
  if (shadow->write_epoch == epoch && shadow->writer != me) {
    fail("race: reads " + element(array, index) + ", which " + thread(shadow->writer) +
         " wrote since the last barrier");
  }
  if (shadow->read_epoch != epoch) {
    shadow->read_epoch = epoch;
    shadow->reader = me;
    shadow->other_reader = -1;
  } else if (shadow->reader != me) {
    shadow->other_reader = me;
  }
}

void check_shared_store(Shadow* shadow, const void* array, int index) {
  const uint32_t epoch = shared_memory().epoch();
  const auto me = static_cast<int16_t>(current_thread());
  if (shadow->write_epoch == epoch && shadow->writer != me) {
    fail("race: writes " + element(array, index) + ", which " + thread(shadow->writer) +
         " wrote since the last barrier");
  }
  if (shadow->read_epoch == epoch) {
    const int16_t other = shadow->reader != me ? shadow->reader : shadow->other_reader;
    if (other >= 0) {
      fail("race: writes " + element(array, index) + ", which " + thread(other) +
           " read since the last barrier");
    }
  }
  shadow->write_epoch = epoch;
  shadow->writer = me;
}

void fail_shared_bounds(const void* array, int index, int size) {
  fail("element " + std::to_string(index) + " is outside of " + shared_memory().name_of(array) +
       ", which has " + std::to_string(size) + " elements");
}

}  // namespace attnplan::simt
