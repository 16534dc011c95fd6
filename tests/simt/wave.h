// wave.h in the emulation: every wave instruction is a meeting of the whole wave.
#pragma once

#include <cmath>
#include <cstring>
#include <new>
#include <string>

#include "simt/machine.h"
#include "simt/shared_memory.h"

namespace attnplan::simt {

// What a lane brings to an exchange, and gets.
struct Exchange {
  uint32_t value;
  int lane;  // or mask
  uint64_t result;
};
extern const Instruction kShuffle;
extern const Instruction kShuffleXor;
extern const Instruction kBallot;
extern const Instruction kUniform;

inline uint64_t exchange(const Instruction& instruction, uint32_t value, int lane, int lanes,
                         Site site) {
  Exchange operands = {value, lane, 0};
  wave_instruction(instruction, &operands, lanes, site);
  return operands.result;
}

// Fails unless `address` is aligned to `bytes`.
void check_access(const void* address, size_t bytes);

// Approximate instructions return no subnormal numbers.
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

template <class T>
void make_shared_object(void* memory) {
  ::new (memory) T;
}
// `Declaration` is a type of its own for every ATTNPLAN_SHARED of every instantiation.
template <class T, class Declaration>
T& shared_object(const char* name, Declaration) {
  static const char key = 0;
  static_assert(alignof(T) <= 64);
  return *static_cast<T*>(shared_memory().object(&key, name, sizeof(T), make_shared_object<T>));
}

}  // namespace attnplan::simt

namespace attnplan::hip {

inline int thread_index() { return simt::current_thread(); }
inline int block_threads() { return simt::block_size(); }
inline int block_index() { return simt::current_block(); }
inline int grid_blocks() { return simt::grid_size(); }

inline void block_barrier(simt::Site site = simt::Site::here()) { simt::barrier(site); }

template <class Arch>
uint32_t shuffle_xor(uint32_t value, int mask, simt::Site site = simt::Site::here()) {
  return static_cast<uint32_t>(simt::exchange(simt::kShuffleXor, value, mask, Arch::kWave, site));
}
template <class Arch>
uint32_t shuffle(uint32_t value, int lane, simt::Site site = simt::Site::here()) {
  return static_cast<uint32_t>(simt::exchange(simt::kShuffle, value, lane, Arch::kWave, site));
}
template <class Arch>
uint64_t ballot(bool condition, simt::Site site = simt::Site::here()) {
  return simt::exchange(simt::kBallot, condition, 0, Arch::kWave, site);
}
template <class Arch>
bool wave_any(bool condition, simt::Site site = simt::Site::here()) {
  return simt::exchange(simt::kBallot, condition, 0, Arch::kWave, site) != 0;
}
template <class Arch>
uint32_t wave_maximum(uint32_t value, simt::Site site = simt::Site::here()) {
  for (int mask = 1; mask < Arch::kWave; mask *= 2) {
    const uint32_t other = shuffle_xor<Arch>(value, mask, site);
    value = other > value ? other : value;
  }
  return value;
}
template <class Arch>
int uniform(int value, simt::Site site = simt::Site::here()) {
  return static_cast<int>(static_cast<uint32_t>(
      simt::exchange(simt::kUniform, static_cast<uint32_t>(value), 0, Arch::kWave, site)));
}

inline float exp2_approx(float x) { return simt::flushed(std::exp2(x)); }
inline float log2_approx(float x) { return std::log2(simt::flushed(x)); }
inline float reciprocal_approx(float x) { return simt::flushed(1.0f / simt::flushed(x)); }
// Of a number and a NaN the number, as on devices. fmax() has another answer for NaNs that signal.
inline float maximum(float a, float b) { return std::isnan(a) || a < b ? b : a; }
inline float maximum_or_nan(float a, float b) { return a > b || std::isnan(a) ? a : b; }

inline uint32_t select_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  if ((selector & 0xffff8888u) != 0) simt::fail("select_bytes: a selector has nibbles of 0 to 7");
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t from = selector >> (4 * i) & 7u;
    result |= static_cast<uint32_t>(bytes >> (8 * from) & 0xffu) << (8 * i);
  }
  return result;
}

template <int N>
Words<N> load_words(const void* address) {
  simt::check_access(address, sizeof(Words<N>));
  Words<N> words;
  std::memcpy(&words, address, sizeof(words));
  return words;
}
template <int N>
Words<N> load_words_stream(const void* address) {
  return load_words<N>(address);
}
template <int N>
void store_words(void* address, const Words<N>& words) {
  simt::check_access(address, sizeof(Words<N>));
  std::memcpy(address, &words, sizeof(words));
}

inline int32_t load_uniform(const int32_t* address, simt::Site site = simt::Site::here()) {
  simt::claim("load_uniform", reinterpret_cast<uintptr_t>(address), site);
  simt::check_access(address, sizeof(int32_t));
  return *address;
}

template <class T>
const T& read_again(const T& args) {
  return args;
}
template <class V>
V computed_here(V value) {
  return value;
}
inline int uniform_here(int value) { return value; }
inline void schedule_fence() {}
inline void prefetch_fence() {}
inline void reload_fence() {}
template <int N>
void keep_in_registers(Words<N>&) {}

template <class T, int N>
class SharedArray {
 public:
  SharedArray() { simt::shared_memory().array_made(this); }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  T load(int index) const {
    check_bounds(index);
    simt::check_shared_load(&shadows_[index], this, index);
    return values_[index];
  }
  void store(int index, T value) {
    check_bounds(index);
    simt::check_shared_store(&shadows_[index], this, index);
    values_[index] = value;
  }

 private:
  void check_bounds(int index) const {
    if (index < 0 || index >= N) simt::fail_shared_bounds(this, index, N);
  }

  T values_[N];
  mutable simt::Shadow shadows_[N];
};
#define ATTNPLAN_SHARED(Type, name) Type& name = ::attnplan::simt::shared_object<Type>(#name, [] {})

}  // namespace attnplan::hip
