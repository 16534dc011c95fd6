// Which compiler reads this: HIP for AMD, nvcc for NVIDIA, or a C++ compiler for the emulation of
// tests/simt. Everything that differs between them hides behind the names defined here and in
// wave.h, mma.h and runtime.h.
//
// ATTNPLAN_CALLER ends the parameters of a helper that does nothing but pass a wave instruction on,
// with ATTNPLAN_PASS_CALLER in its call: the emulation then tells its callers apart, and lanes that
// wait in two of them have not met. Nothing on hardware.
#pragma once

#if defined(ATTNPLAN_HIP_EMULATED)
#define ATTNPLAN_DEVICE inline
#define ATTNPLAN_GLOBAL
#define ATTNPLAN_UNROLL
#define ATTNPLAN_LAUNCH_BOUNDS(threads, blocks)
#define ATTNPLAN_CALLER , ::attnplan::simt::Site site = ::attnplan::simt::Site::here()
#define ATTNPLAN_PASS_CALLER , site
#elif defined(__CUDACC__)
#define ATTNPLAN_HIP_NVIDIA 1
#define ATTNPLAN_DEVICE __device__ __forceinline__
#define ATTNPLAN_GLOBAL __global__
#define ATTNPLAN_UNROLL _Pragma("unroll")
#define ATTNPLAN_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define ATTNPLAN_WAVES_PER_SIMD(waves)
#else
#define ATTNPLAN_HIP_AMD 1
#define ATTNPLAN_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define ATTNPLAN_GLOBAL __attribute__((global))
#define ATTNPLAN_UNROLL _Pragma("unroll")
// Blocks of an AMD compute unit are what registers and memory allow.
#define ATTNPLAN_LAUNCH_BOUNDS(threads, blocks) \
  __attribute__((amdgpu_flat_work_group_size(threads, threads)))
// Has the register allocator pack as tightly as that many waves need; NVIDIA's does anyway.
#define ATTNPLAN_WAVES_PER_SIMD(waves) __attribute__((amdgpu_waves_per_eu(waves)))
#endif
#if !defined(ATTNPLAN_HIP_EMULATED)
#define ATTNPLAN_CALLER
#define ATTNPLAN_PASS_CALLER
#endif
