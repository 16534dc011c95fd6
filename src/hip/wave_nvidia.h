// wave.h for NVIDIA.
#pragma once

namespace attnplan::hip {

ATTNPLAN_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
ATTNPLAN_DEVICE int block_threads() { return static_cast<int>(blockDim.x); }
ATTNPLAN_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
ATTNPLAN_DEVICE int grid_blocks() { return static_cast<int>(gridDim.x); }

// All threads of the block; orders shared and global memory among them.
ATTNPLAN_DEVICE void block_barrier() { __syncthreads(); }

template <class Arch>
ATTNPLAN_DEVICE uint32_t shuffle_xor(uint32_t value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
// The value of lane `lane`.
template <class Arch>
ATTNPLAN_DEVICE uint32_t shuffle(uint32_t value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
template <class Arch>
ATTNPLAN_DEVICE uint64_t ballot(bool condition) {
  return __ballot_sync(0xffffffffu, condition);
}
template <class Arch>
ATTNPLAN_DEVICE bool wave_any(bool condition) {
  return __any_sync(0xffffffffu, condition) != 0;
}
// The largest of the wave's values, in every lane.
template <class Arch>
ATTNPLAN_DEVICE uint32_t wave_maximum(uint32_t value) {
  return __reduce_max_sync(0xffffffffu, value);
}
// Promises that every lane of the wave holds the same value.
template <class Arch>
ATTNPLAN_DEVICE int uniform(int value) {
  return value;
}

ATTNPLAN_DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ATTNPLAN_DEVICE float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ATTNPLAN_DEVICE float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ATTNPLAN_DEVICE float maximum(float a, float b) { return fmaxf(a, b); }
// NaN where either is.
ATTNPLAN_DEVICE float maximum_or_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

// Bytes chosen by the nibbles of `selector` from b:a (0-3: a, 4-7: b), lowest nibble first.
ATTNPLAN_DEVICE uint32_t select_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  return __byte_perm(a, b, selector);
}

// Global memory, aligned to the size of the vector. `stream`: read once, not worth a cache line.
template <int N>
ATTNPLAN_DEVICE Words<N> load_words(const void* address) {
  if constexpr (N == 4) {
    const uint4 v = __ldg(static_cast<const uint4*>(address));
    return {v.x, v.y, v.z, v.w};
  } else if constexpr (N == 2) {
    const uint2 v = __ldg(static_cast<const uint2*>(address));
    return {v.x, v.y};
  } else {
    return {__ldg(static_cast<const unsigned int*>(address))};
  }
}
template <int N>
ATTNPLAN_DEVICE Words<N> load_words_stream(const void* address) {
  return load_words<N>(address);
}
template <int N>
ATTNPLAN_DEVICE void store_words(void* address, const Words<N>& words) {
  *static_cast<Words<N>*>(address) = words;
}

// Of an address that is the same in the whole wave, and memory that no kernel in flight writes.
ATTNPLAN_DEVICE int32_t load_uniform(const int32_t* address) { return __ldg(address); }

// The kernel's arguments. They cost no register there; see wave_amd.h.
template <class T>
ATTNPLAN_DEVICE const T& kernel_args(const T& args) {
  return args;
}
template <class T>
ATTNPLAN_DEVICE const T& read_again(const T& args) {
  return args;
}
template <class V>
ATTNPLAN_DEVICE V computed_here(V value) {
  return value;
}
ATTNPLAN_DEVICE int uniform_here(int value) { return value; }

// Keeps the compiler from moving loads and arithmetic across, where that costs (AMD).
ATTNPLAN_DEVICE void schedule_fence() {}
// Shared memory is read again behind it, however little it changed: registers are worth more.
ATTNPLAN_DEVICE void reload_fence() { asm volatile("" ::: "memory"); }
// What follows may not be known to read memory before this point.
ATTNPLAN_DEVICE void prefetch_fence() {}
// Holds a value in registers from here on.
template <int N>
ATTNPLAN_DEVICE void keep_in_registers(Words<N>&) {}

// One array of a kernel's shared memory. Declared through ATTNPLAN_SHARED only.
template <class T, int N>
class SharedArray {
 public:
  ATTNPLAN_DEVICE T load(int index) const { return values_[index]; }
  ATTNPLAN_DEVICE void store(int index, T value) { values_[index] = value; }

 private:
  T values_[N];
};
#define ATTNPLAN_SHARED(Type, name) __shared__ Type name

}  // namespace attnplan::hip
