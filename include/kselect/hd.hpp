#pragma once
// Macros for code that both the host compiler and nvcc's device pass compile.

// Marks a function for both passes.

#if defined(__CUDACC__)
#define KSELECT_HD __host__ __device__
#else
#define KSELECT_HD
#endif

// Marks a function on a rare path, or one of which one copy shall serve several callers. It is not
// inlined, so that its registers do not add to the pressure of the common path.
#if defined(__CUDACC__)
#define KSELECT_RARE __noinline__
#else
#define KSELECT_RARE
#endif

// Unrolls a short loop, so that an array indexed by its counter stays in registers on a GPU.
#if defined(__CUDA_ARCH__)
#define KSELECT_UNROLL _Pragma("unroll")
#else
#define KSELECT_UNROLL
#endif

// Keeps a loop as it is. Code that runs once costs a GPU the time to fetch it from memory.
#if defined(__CUDA_ARCH__)
#define KSELECT_ROLLED _Pragma("unroll 1")
#else
#define KSELECT_ROLLED
#endif
