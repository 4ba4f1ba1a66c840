#pragma once
// Marks a function that both the host compiler and nvcc's device pass must accept.

#if defined(__CUDACC__)
#define KSELECT_HD __host__ __device__
#else
#define KSELECT_HD
#endif
