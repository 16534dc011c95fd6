#include "hip/memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hip/runtime.h"

#if defined(ATTNPLAN_HIP_EMULATED) && defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTNPLAN_TEST_POISONS 1
#endif
#endif
#if defined(ATTNPLAN_HIP_EMULATED) && defined(__SANITIZE_ADDRESS__)
#define ATTNPLAN_TEST_POISONS 1
#endif
#if defined(ATTNPLAN_TEST_POISONS)
#include <sanitizer/asan_interface.h>
#endif

namespace attnplan::hip_test {
namespace {

constexpr size_t kGuard = 4096;  // bytes on either side

void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + hip::describe(error));
}

}  // namespace

Buffer::Buffer(size_t bytes, uint8_t poison, Aligned aligned)
    : front_(aligned == Aligned::k64 ? kGuard : kGuard + 16), bytes_(bytes), poison_(poison) {
  const size_t whole = front_ + bytes_ + kGuard;
  check(hip::allocate(reinterpret_cast<void**>(&start_), whole), "allocating");
  check(hip::fill(start_, poison_, whole, nullptr), "filling");
  guard_against_reads(true);
}

Buffer::~Buffer() {
  guard_against_reads(false);
  (void)hip::release(start_);
}

void Buffer::write(size_t offset, const void* from, size_t bytes) {
  if (offset + bytes > bytes_) throw std::runtime_error("a test writes behind its own buffer");
  check(hip::copy_to_device(start_ + front_ + offset, from, bytes, nullptr), "copying");
  check(hip::synchronize(nullptr), "copying");
}

void Buffer::poison() {
  check(hip::fill(start_ + front_, poison_, bytes_, nullptr), "filling");
  check(hip::synchronize(nullptr), "filling");
}

std::vector<uint8_t> Buffer::read(size_t offset, size_t bytes) const {
  if (offset + bytes > bytes_) throw std::runtime_error("a test reads behind its own buffer");
  return copy(start_ + front_ + offset, bytes);
}

std::vector<uint8_t> Buffer::copy(const uint8_t* from, size_t bytes) const {
  std::vector<uint8_t> to(bytes);
  check(hip::copy_to_host(to.data(), from, bytes, nullptr), "copying");
  check(hip::synchronize(nullptr), "copying");
  return to;
}

bool Buffer::guards_intact() const {
  guard_against_reads(false);
  const auto intact = [&](const std::vector<uint8_t>& bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t b) { return b == poison_; });
  };
  const bool both = intact(copy(start_, front_)) && intact(copy(start_ + front_ + bytes_, kGuard));
  guard_against_reads(true);
  return both;
}

// In the emulation a sanitizer sees reads of the guards, too.
void Buffer::guard_against_reads([[maybe_unused]] bool on) const {
#if defined(ATTNPLAN_TEST_POISONS)
  const uint8_t* behind = start_ + front_ + bytes_;
  if (on) {
    ASAN_POISON_MEMORY_REGION(start_, front_);
    ASAN_POISON_MEMORY_REGION(behind, kGuard);
  } else {
    ASAN_UNPOISON_MEMORY_REGION(start_, front_);
    ASAN_UNPOISON_MEMORY_REGION(behind, kGuard);
  }
#endif
}

}  // namespace attnplan::hip_test
