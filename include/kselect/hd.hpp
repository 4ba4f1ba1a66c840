#pragma once
// What both the host compiler and nvcc's device pass must be told.

// Marks a function for both.

#if defined(__CUDACC__)
#define KSELECT_HD __host__ __device__
#else
#define KSELECT_HD
#endif

// In front of a function for what hardly ever happens: what it needs of registers is not taken from
// what always does.
#if defined(__CUDACC__)
#define KSELECT_RARE __noinline__
#else
#define KSELECT_RARE
#endif

// In front of a loop of few iterations: an array indexed by it stays in registers on a GPU.
#if defined(__CUDA_ARCH__)
#define KSELECT_UNROLL _Pragma("unroll")
#else
#define KSELECT_UNROLL
#endif
