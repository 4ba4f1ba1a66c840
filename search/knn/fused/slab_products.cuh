#pragma once
// Device code: products of 64 rows by a warp group with both operands in shared memory, for
// filter_slabs_wgmma.cu.
//
// Rows and columns are described alike (hopper::descriptor_of): both lie in slabs of layout.hpp.
// Field by field, against those of the columns in filter_wgmma.cu, which are the same:
// - start address: of the first row, plus 32 bytes for each step of 16 components (32 of bytes)
//   within a row's 128 bytes. Rows of the second group begin 64 * 128 bytes further on, which is a
//   multiple of the swizzle's 1024.
// - leading offset: 1, without meaning in this swizzle while a step stays within 128 bytes.
// - stride: 1024 bytes from 8 rows to the next 8. A second tile's slab follows the first's in
//   memory, so 256 columns have the same stride throughout.
// - base offset: 0, since slabs begin at multiples of 1024 bytes.
// - swizzle: 128 bytes. A component's size does not matter to it: chunks of 16 bytes change places.
// Elements of the sums are numbered as in hopper.cuh, with j up to 31 for 256 columns: those of the
// second tile follow those of the first.

#include <cstdint>

#include "kselect/simt/products.hpp"
#include "search/knn/fused/hopper.cuh"

namespace kselect::search::fused::hopper {

#define KSELECT_NAMES_0                                              \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"           \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define KSELECT_NAMES_64                                                         \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"            \
  "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"             \
  "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
  "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define KSELECT_SUMS_4(kind, i) \
  kind(sums[i]), kind(sums[i + 1]), kind(sums[i + 2]), kind(sums[i + 3])
#define KSELECT_SUMS_16(kind, i)                                                     \
  KSELECT_SUMS_4(kind, i), KSELECT_SUMS_4(kind, i + 4), KSELECT_SUMS_4(kind, i + 8), \
      KSELECT_SUMS_4(kind, i + 12)
#define KSELECT_SUMS_64(kind, i)                                                          \
  KSELECT_SUMS_16(kind, i), KSELECT_SUMS_16(kind, i + 16), KSELECT_SUMS_16(kind, i + 32), \
      KSELECT_SUMS_16(kind, i + 48)

// The last numbers: sums are added to, factors have no sign changed, rows and columns are not
// transposed. Integers have the first of them alone.
#define KSELECT_PRODUCT(types, kind, rest)                                                        \
  asm volatile("wgmma.mma_async.sync.aligned.m64n256" types " {" KSELECT_NAMES_0 KSELECT_NAMES_64 \
               "}, %128, %129, " rest ";"                                                         \
               : KSELECT_SUMS_64(kind, 0), KSELECT_SUMS_64(kind, 64)                              \
               : "l"(rows), "l"(columns))

// Adds the product of 32 bytes of each row with those of each of 256 columns, asynchronously.
template <simt::product factors>
__device__ __forceinline__ void multiply_slabs(simt::product_sum<factors> (&sums)[128],
                                               std::uint64_t rows, std::uint64_t columns) {
  if constexpr (factors == simt::product::float16) {
    KSELECT_PRODUCT("k16.f32.f16.f16", "+f", "1, 1, 1, 0, 0");
  } else if constexpr (factors == simt::product::bfloat16) {
    KSELECT_PRODUCT("k16.f32.bf16.bf16", "+f", "1, 1, 1, 0, 0");
  } else {
    static_assert(factors == simt::product::int8);
    KSELECT_PRODUCT("k32.s32.s8.s8", "+r", "1");
  }
}

#undef KSELECT_PRODUCT
#undef KSELECT_SUMS_64
#undef KSELECT_SUMS_16
#undef KSELECT_SUMS_4
#undef KSELECT_NAMES_64
#undef KSELECT_NAMES_0

// As hold() of hopper.cuh, for any number of sums.
template <int size>
__device__ __forceinline__ void hold_all(float (&sums)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int size>
__device__ __forceinline__ void hold_all(std::int32_t (&sums)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}
// The thread's number in its block, read here and not earlier.
__device__ __forceinline__ int thread_again() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
// Waits until at most the last committed products still run.
__device__ __forceinline__ void wait_earlier_products() {
  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}

}  // namespace kselect::search::fused::hopper
