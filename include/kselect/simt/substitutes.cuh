#pragma once
// Warp reductions and a NaN-aware minimum: one instruction from sm_80 on, emulated on sm_75.

#include <cstdint>

#include "kselect/simt/types.hpp"

namespace kselect::simt::detail {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800

// Works for any mask: lanes outside it are never a shuffle's source.
template <class Combine>
__device__ std::uint32_t reduce_lanes(std::uint32_t mask, std::uint32_t value, Combine combine) {
  if (mask == full_mask) {
    for (int step = warp_size / 2; step > 0; step /= 2) {
      value = combine(value, __shfl_xor_sync(full_mask, value, step));
    }
    return value;
  }
  std::uint32_t all = __shfl_sync(mask, value, __ffs(static_cast<int>(mask)) - 1);
  for (std::uint32_t rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
    all = combine(all, __shfl_sync(mask, value, __ffs(static_cast<int>(rest)) - 1));
  }
  return all;
}

__device__ inline std::uint32_t lanes_sum(std::uint32_t mask, std::uint32_t value) {
  return reduce_lanes(mask, value, [](std::uint32_t a, std::uint32_t b) { return a + b; });
}
__device__ inline std::uint32_t lanes_min(std::uint32_t mask, std::uint32_t value) {
  return reduce_lanes(mask, value, [](std::uint32_t a, std::uint32_t b) { return a < b ? a : b; });
}
__device__ inline std::uint32_t lanes_max(std::uint32_t mask, std::uint32_t value) {
  return reduce_lanes(mask, value, [](std::uint32_t a, std::uint32_t b) { return a < b ? b : a; });
}

// fminf() returns the number if one operand is a NaN.
__device__ inline float smaller_or_nan(float a, float b) {
  return a != a || b != b ? __int_as_float(0x7fffffff) : fminf(a, b);
}

#else

__device__ inline std::uint32_t lanes_sum(std::uint32_t mask, std::uint32_t value) {
  return __reduce_add_sync(mask, value);
}
__device__ inline std::uint32_t lanes_min(std::uint32_t mask, std::uint32_t value) {
  return __reduce_min_sync(mask, value);
}
__device__ inline std::uint32_t lanes_max(std::uint32_t mask, std::uint32_t value) {
  return __reduce_max_sync(mask, value);
}

__device__ inline float smaller_or_nan(float a, float b) {
  float least;  // one instruction; a comparison would take more
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}

#endif

}  // namespace kselect::simt::detail
