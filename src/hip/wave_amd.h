// wave.h for AMD: compiler builtins only, no device header, no device library.
#pragma once

namespace attnplan::hip {

using NativeWords4 = uint32_t __attribute__((ext_vector_type(4)));
using NativeWords2 = uint32_t __attribute__((ext_vector_type(2)));
template <class T>
using GlobalPointer = __attribute__((address_space(1))) T*;
template <class T>
using ConstantPointer = __attribute__((address_space(4))) T*;

ATTNPLAN_DEVICE int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
ATTNPLAN_DEVICE int block_threads() {
  return static_cast<int>(__builtin_amdgcn_workgroup_size_x());
}
ATTNPLAN_DEVICE int block_index() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
ATTNPLAN_DEVICE int grid_blocks() {
  return static_cast<int>(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x());
}

ATTNPLAN_DEVICE void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <class Arch>
ATTNPLAN_DEVICE uint32_t shuffle(uint32_t value, int lane) {
  return static_cast<uint32_t>(__builtin_amdgcn_ds_bpermute(lane * 4, static_cast<int>(value)));
}
template <class Arch>
ATTNPLAN_DEVICE uint32_t shuffle_xor(uint32_t value, int mask) {
  const int lane =
      static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
  return shuffle<Arch>(value, lane ^ mask);
}
template <class Arch>
ATTNPLAN_DEVICE uint64_t ballot(bool condition) {
  return __builtin_amdgcn_ballot_w64(condition);
}
template <class Arch>
ATTNPLAN_DEVICE bool wave_any(bool condition) {
  return ballot<Arch>(condition) != 0;
}
// Takes from the lane that `kControl` of the DPP instructions names, in the rows of `kRows`.
template <int kControl, int kRows>
ATTNPLAN_DEVICE uint32_t larger_by_dpp(uint32_t value) {
  const auto other = static_cast<uint32_t>(
      __builtin_amdgcn_update_dpp(0, static_cast<int>(value), kControl, kRows, 0xf, false));
  return value > other ? value : other;
}
template <class Arch>
ATTNPLAN_DEVICE uint32_t wave_maximum(uint32_t value) {
  value = larger_by_dpp<0x111, 0xf>(value);  // within rows of 16 lanes: shifts by 1, 2, 4, 8
  value = larger_by_dpp<0x112, 0xf>(value);
  value = larger_by_dpp<0x114, 0xf>(value);
  value = larger_by_dpp<0x118, 0xf>(value);
  value = larger_by_dpp<0x142, 0xa>(value);  // the last lane of a row to the next row
  value = larger_by_dpp<0x143, 0xc>(value);  // lane 31 to both upper rows
  return static_cast<uint32_t>(__builtin_amdgcn_readlane(static_cast<int>(value), 63));
}
template <class Arch>
ATTNPLAN_DEVICE int uniform(int value) {
  return __builtin_amdgcn_readfirstlane(value);
}

ATTNPLAN_DEVICE float exp2_approx(float x) { return __builtin_amdgcn_exp2f(x); }
ATTNPLAN_DEVICE float log2_approx(float x) { return __builtin_amdgcn_logf(x); }
ATTNPLAN_DEVICE float reciprocal_approx(float x) { return __builtin_amdgcn_rcpf(x); }
ATTNPLAN_DEVICE float maximum(float a, float b) { return __builtin_fmaxf(a, b); }
ATTNPLAN_DEVICE float maximum_or_nan(float a, float b) { return a > b || a != a ? a : b; }

ATTNPLAN_DEVICE uint32_t select_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  // v_perm_b32 wants one byte a selector: spread the (constant) nibbles.
  const uint32_t spread = (selector & 0xfu) | (selector & 0xf0u) << 4 | (selector & 0xf00u) << 8 |
                          (selector & 0xf000u) << 12;
  return __builtin_amdgcn_perm(b, a, spread);
}

template <int N>
ATTNPLAN_DEVICE Words<N> load_words(const void* address) {
  if constexpr (N == 4) {
    const NativeWords4 v = *(GlobalPointer<const NativeWords4>)address;
    return {v.x, v.y, v.z, v.w};
  } else if constexpr (N == 2) {
    const NativeWords2 v = *(GlobalPointer<const NativeWords2>)address;
    return {v.x, v.y};
  } else {
    return {*(GlobalPointer<const uint32_t>)address};
  }
}
template <int N>
ATTNPLAN_DEVICE Words<N> load_words_stream(const void* address) {
  if constexpr (N == 4) {
    const NativeWords4 v = __builtin_nontemporal_load((GlobalPointer<const NativeWords4>)address);
    return {v.x, v.y, v.z, v.w};
  } else if constexpr (N == 2) {
    const NativeWords2 v = __builtin_nontemporal_load((GlobalPointer<const NativeWords2>)address);
    return {v.x, v.y};
  } else {
    return {__builtin_nontemporal_load((GlobalPointer<const uint32_t>)address)};
  }
}
template <int N>
ATTNPLAN_DEVICE void store_words(void* address, const Words<N>& words) {
  if constexpr (N == 4) {
    *(GlobalPointer<NativeWords4>)address =
        NativeWords4{words.w[0], words.w[1], words.w[2], words.w[3]};
  } else if constexpr (N == 2) {
    *(GlobalPointer<NativeWords2>)address = NativeWords2{words.w[0], words.w[1]};
  } else {
    *(GlobalPointer<uint32_t>)address = words.w[0];
  }
}

// Of an address that is the same in the whole wave, and memory that no kernel in flight writes: a
// scalar load, which does not wait for vector loads in flight.
ATTNPLAN_DEVICE int32_t load_uniform(const int32_t* address) {
  const auto bits = reinterpret_cast<uint64_t>(address);
  const uint64_t low =
      static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(bits)));
  const uint64_t high =
      static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(bits >> 32)));
  return *(ConstantPointer<const int32_t>)(low | high << 32);
}

// The arguments of the kernel, its only parameter, where the device keeps them. Nothing but these,
// or a part of them, may be read again.
template <class T>
ATTNPLAN_DEVICE const T& kernel_args(const T&) {
  return *(const T*)(ConstantPointer<const T>)__builtin_amdgcn_kernarg_segment_ptr();
}
// The same arguments, to be loaded again: what follows keeps no scalar register over what came
// before, which would end in spills.
template <class T>
ATTNPLAN_DEVICE const T& read_again(const T& args) {
  auto from = (ConstantPointer<const T>)&args;
  asm volatile("" : "+s"(from));
  return *(const T*)from;
}

// Nothing that depends on it is computed ahead of this point, to be held in registers until here.
template <class V>
ATTNPLAN_DEVICE V computed_here(V value) {
  asm volatile("" : "+v"(value));
  return value;
}
// The same for a value that is known to be uniform.
ATTNPLAN_DEVICE int uniform_here(int value) {
  value = __builtin_amdgcn_readfirstlane(value);
  asm volatile("" : "+s"(value));
  return value;
}
ATTNPLAN_DEVICE void schedule_fence() { __builtin_amdgcn_sched_barrier(0); }
ATTNPLAN_DEVICE void reload_fence() { asm volatile("" ::: "memory"); }
ATTNPLAN_DEVICE void prefetch_fence() { asm volatile("" ::: "memory"); }
template <int N>
ATTNPLAN_DEVICE void keep_in_registers(Words<N>& words) {
  ATTNPLAN_UNROLL for (int i = 0; i < N; ++i) asm volatile("" : "+v"(words.w[i]));
}

template <class T, int N>
class SharedArray {
 public:
  ATTNPLAN_DEVICE T load(int index) const { return values_[index]; }
  ATTNPLAN_DEVICE void store(int index, T value) { values_[index] = value; }

 private:
  T values_[N];
};
#define ATTNPLAN_SHARED(Type, name) static __attribute__((shared)) Type name

}  // namespace attnplan::hip
