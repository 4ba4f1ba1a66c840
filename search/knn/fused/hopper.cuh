#pragma once
// Device code: the instructions of compute capability 9.0 that filter_wgmma.cu needs.
//
// Shared memory is named by 32-bit addresses. A ring of buffers has two mbarriers for each: a
// producer waits until a buffer is empty, consumers until it is full. A wait that lasts for seconds
// is a defect and ends the kernel with a trap, so that a program reports an error and does not
// hang.

#include <cstdint>

namespace kselect::search::fused::hopper {

using shared_address = std::uint32_t;

inline constexpr int group_threads = 128;  // of a warp group

__device__ __forceinline__ shared_address address_of(const void* shared) {
  return static_cast<shared_address>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void init_barrier(shared_address barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes initialised barriers visible to the copy engine.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives, and lets the phase end only when so many bytes have come, too.
__device__ __forceinline__ void expect_bytes(shared_address barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// An arrival orders its own thread's accesses, and those of others only after a barrier with them.
// compute-sanitizer's racecheck does not follow such a barrier, so each reader of a buffer arrives.
__device__ __forceinline__ void arrive(shared_address barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Waits for a while. Whether the phase of that parity has ended.
__device__ __forceinline__ bool has_ended(shared_address barrier, std::uint32_t parity) {
  std::uint32_t ended;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
  return ended != 0;
}
__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__device__ __forceinline__ void wait(shared_address barrier, std::uint32_t parity) {
  constexpr std::uint64_t longest = 4'000'000'000;
  if (has_ended(barrier, parity)) return;
  const std::uint64_t begin = nanoseconds();
  while (!has_ended(barrier, parity)) {
    if (nanoseconds() - begin > longest) __trap();
  }
}

// Copies from global to shared memory without a thread's help; both addresses and the size are
// multiples of 16. The barrier counts the bytes.
__device__ __forceinline__ void copy_bulk(shared_address to, const void* from, std::uint32_t bytes,
                                          shared_address barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ float load_one(shared_address from) {
  float one;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(one) : "r"(from));
  return one;
}
__device__ __forceinline__ float2 load_two(shared_address from) {
  float2 two;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(from));
  return two;
}

// Named barriers, of `threads` threads. 0 is __syncthreads().
__device__ __forceinline__ void sync_named(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_named(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// The matrix at an address: rows of 128 bytes, 8 rows apart by 1024 bytes, in the 128-byte swizzle
// (PTX ISA, "matrix descriptor"). The leading offset has no meaning in that swizzle.
__device__ __forceinline__ std::uint64_t descriptor_of(shared_address matrix) {
  constexpr std::uint64_t leading = 1, stride = 1024 / 16, swizzle_128 = 1;
  return (matrix & 0x3ffffU) >> 4 | leading << 16 | stride << 32 | swizzle_128 << 62;
}

// The sums of one thread in a warp group's product of 64 rows and 128 columns. Element
// 4 j + 2 h + e is of row 16 w + lane / 4 + 8 h, column 8 j + 2 (lane % 4) + e, where w is the
// warp's number in its group.
using sums_of_64 = float[64];

// Keeps the compiler from moving its own accesses of the sums across this point. Otherwise ptxas
// sees accesses of registers that a running product owns, and waits for each product (C7517).
__device__ __forceinline__ void hold(sums_of_64& sums) {
#pragma unroll
  for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define KSELECT_SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define KSELECT_SUMS_16(i) \
  KSELECT_SUMS_4(i), KSELECT_SUMS_4(i + 4), KSELECT_SUMS_4(i + 8), KSELECT_SUMS_4(i + 12)

// Adds the product of 16 components, of float16, asynchronously. `rows` are fragments as in
// simt/products.hpp, of the 16 rows of each warp; `columns` describes 128 columns.
__device__ __forceinline__ void multiply_add(sums_of_64& sums, const std::uint32_t (&rows)[4],
                                             std::uint64_t columns) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
      "{%64,%65,%66,%67}, %68, 1, 1, 1, 0;"
      : KSELECT_SUMS_16(0), KSELECT_SUMS_16(16), KSELECT_SUMS_16(32), KSELECT_SUMS_16(48)
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(columns));
}

#undef KSELECT_SUMS_16
#undef KSELECT_SUMS_4

}  // namespace kselect::search::fused::hopper
