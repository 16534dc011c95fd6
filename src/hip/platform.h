// Which compiler reads this: HIP for AMD, nvcc for NVIDIA, or a C++ compiler for the emulation of
// tests/simt. Everything that differs between them hides behind the names defined here and in
// wave.h, mma.h and runtime.h.
#pragma once

#if defined(ATTNPLAN_HIP_EMULATED)
#define ATTNPLAN_DEVICE inline
#define ATTNPLAN_GLOBAL
#define ATTNPLAN_UNROLL
#define ATTNPLAN_LAUNCH_BOUNDS(threads, blocks)
#elif defined(__CUDACC__)
#define ATTNPLAN_HIP_NVIDIA 1
#define ATTNPLAN_DEVICE __device__ __forceinline__
#define ATTNPLAN_GLOBAL __global__
#define ATTNPLAN_UNROLL _Pragma("unroll")
#define ATTNPLAN_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#else
#define ATTNPLAN_HIP_AMD 1
#define ATTNPLAN_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define ATTNPLAN_GLOBAL __attribute__((global))
#define ATTNPLAN_UNROLL _Pragma("unroll")
// The second figure of an AMD kernel is waves a SIMD, which the register count decides.
#define ATTNPLAN_LAUNCH_BOUNDS(threads, blocks) \
  __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#endif
