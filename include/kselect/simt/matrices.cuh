#pragma once
// The PTX of a warp's matrix product, of its loads, and of copies that a thread does not wait for.
// All need sm_80; code for older GPUs traps.

#include <cstdint>

#include "kselect/simt/products.hpp"

namespace kselect::simt::detail {

__device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800

template <product factors>
__device__ void multiply_add(product_sum<factors> (&)[4], const std::uint32_t (&)[4], std::uint32_t,
                             std::uint32_t) {
  __trap();
}
__device__ inline void load_matrices(std::uint32_t (&)[4], const void*) { __trap(); }
__device__ inline void copy_16_async(void*, const void*) { __trap(); }
__device__ inline void commit_copies() {}
template <int n>
__device__ void wait_copies() {}

#else

#define KSELECT_MULTIPLY_ADD(SHAPE, TYPES, SUM)                             \
  asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPES                  \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"     \
               : "+" SUM(d[0]), "+" SUM(d[1]), "+" SUM(d[2]), "+" SUM(d[3]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

template <product factors>
__device__ __forceinline__ void multiply_add(product_sum<factors> (&d)[4],
                                             const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  if constexpr (factors == product::float16) {
    KSELECT_MULTIPLY_ADD("m16n8k16", "f32.f16.f16.f32", "f");
  } else if constexpr (factors == product::bfloat16) {
    KSELECT_MULTIPLY_ADD("m16n8k16", "f32.bf16.bf16.f32", "f");
  } else if constexpr (factors == product::int8) {
    KSELECT_MULTIPLY_ADD("m16n8k32", "s32.s8.s8.s32", "r");
  } else {
    KSELECT_MULTIPLY_ADD("m16n8k32", "s32.u8.u8.s32", "r");
  }
}
#undef KSELECT_MULTIPLY_ADD

__device__ __forceinline__ void load_matrices(std::uint32_t (&into)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(into[0]), "=r"(into[1]), "=r"(into[2]), "=r"(into[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void copy_16_async(void* shared, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int n>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

#endif

}  // namespace kselect::simt::detail
