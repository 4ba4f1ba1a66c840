#pragma once
// simt::cuda: the verbs of a kernel on an NVIDIA GPU. Each verb is one intrinsic or one plain
// access. tests/simt/codegen checks that the machine code equals that of a hand-written kernel.
// fiber.hpp documents each verb, in the same order.

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <cuda_runtime.h>
#include <string>
#include <type_traits>

#include "kselect/algorithm.hpp"
#include "kselect/simt/counters.hpp"
#include "kselect/simt/matrices.cuh"
#include "kselect/simt/products.hpp"
#include "kselect/simt/shared_limit.hpp"
#include "kselect/simt/substitutes.cuh"
#include "kselect/simt/types.hpp"

namespace kselect::simt {

class cuda {
 public:
  __device__ explicit cuda(int dynamic_offset) : dynamic_offset_(dynamic_offset) {}

  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ int lane() const { return static_cast<int>(threadIdx.x % warp_size); }
  __device__ int warp() const { return static_cast<int>(threadIdx.x / warp_size); }
  __device__ int warps() const { return static_cast<int>(blockDim.x / warp_size); }
  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }

  __device__ void* dynamic_shared() const {
    extern __shared__ __align__(128) unsigned char kselect_dynamic_shared[];
    return kselect_dynamic_shared + dynamic_offset_;
  }

  __device__ static int popc(std::uint32_t bits) { return __popc(bits); }
  __device__ static int popc(std::uint64_t bits) { return __popcll(bits); }
  __device__ static int ffs(std::uint32_t bits) { return __ffs(static_cast<int>(bits)); }
  __device__ static int ffs(std::uint64_t bits) { return __ffsll(static_cast<long long>(bits)); }
  __device__ static int clz(std::uint32_t bits) { return __clz(static_cast<int>(bits)); }
  __device__ static int clz(std::uint64_t bits) { return __clzll(static_cast<long long>(bits)); }
  __device__ static std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
    return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
  }
  __device__ static float smaller(float a, float b) { return detail::smaller_or_nan(a, b); }
  __device__ static double smaller(double a, double b) { return a <= b || a != a ? a : b; }
  __device__ static std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
  __device__ static float fma_clamped(float a, float b, float c) {
    float sum;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(sum) : "f"(a), "f"(b), "f"(c));
    return sum;
  }
  __device__ static std::uint32_t exceeds(float a, float b) {  // an addition yields no negative NaN
    return __float_as_uint(b - a) >> 31;
  }
  __device__ std::uint32_t lanemask_lt() const {
    std::uint32_t bits;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(bits));
    return bits;
  }

  __device__ std::uint32_t ballot(std::uint32_t mask, bool p) { return __ballot_sync(mask, p); }
  __device__ bool any(std::uint32_t mask, bool p) { return __any_sync(mask, p) != 0; }
  __device__ bool all(std::uint32_t mask, bool p) { return __all_sync(mask, p) != 0; }
  template <class T>
  __device__ T shfl(std::uint32_t mask, T value, int source, int width = warp_size) {
    return __shfl_sync(mask, value, source, width);
  }
  template <class T>
  __device__ T shfl_up(std::uint32_t mask, T value, int delta, int width = warp_size) {
    return __shfl_up_sync(mask, value, static_cast<unsigned>(delta), width);
  }
  template <class T>
  __device__ T shfl_down(std::uint32_t mask, T value, int delta, int width = warp_size) {
    return __shfl_down_sync(mask, value, static_cast<unsigned>(delta), width);
  }
  template <class T>
  __device__ T shfl_xor(std::uint32_t mask, T value, int lane_mask, int width = warp_size) {
    return __shfl_xor_sync(mask, value, lane_mask, width);
  }
  template <class T>
  __device__ std::uint32_t match_any(std::uint32_t mask, T value) {
    return __match_any_sync(mask, value);
  }
  __device__ std::uint32_t reduce_add(std::uint32_t mask, std::uint32_t value) {
    return detail::lanes_sum(mask, value);
  }
  __device__ std::uint32_t reduce_min(std::uint32_t mask, std::uint32_t value) {
    return detail::lanes_min(mask, value);
  }
  __device__ std::uint32_t reduce_max(std::uint32_t mask, std::uint32_t value) {
    return detail::lanes_max(mask, value);
  }
  __device__ void sync_warp(std::uint32_t mask) { __syncwarp(mask); }
  __device__ void sync_block() { __syncthreads(); }

  template <product factors>
  __device__ static void multiply_add(product_sum<factors> (&d)[4], const std::uint32_t (&a)[4],
                                      std::uint32_t b0, std::uint32_t b1) {
    detail::multiply_add<factors>(d, a, b0, b1);
  }
  __device__ static void load_matrices(std::uint32_t (&into)[4], const void* row) {
    detail::load_matrices(into, row);
  }
  template <class T>
  __device__ static void copy_async(void* shared, global<T> from, std::int64_t i) {
    static_assert(sizeof(T) == 16);
    detail::copy_16_async(shared, from.data + i);
  }
  __device__ static void commit_copies() { detail::commit_copies(); }
  template <int n>
  __device__ static void wait_copies() {
    detail::wait_copies<n>();
  }

  template <class T>
  __device__ std::remove_const_t<T> load(global<T> from, std::int64_t i) const {
    return from.data[i];
  }
  template <class T>
  __device__ void store(global<T> to, std::int64_t i, std::type_identity_t<T> value) const {
    to.data[i] = value;
  }
  template <class T>
  __device__ global<T> slice(global<T> whole, std::int64_t first, std::int64_t count) const {
    return {whole.data + first, count};
  }

  template <class T>
  __device__ std::remove_const_t<T> load_fresh(global<T> from, std::int64_t i) const {
    using word = std::conditional_t<sizeof(T) == 4, unsigned,
                                    std::conditional_t<sizeof(T) == 8, unsigned long long, uint4>>;
    static_assert(sizeof(T) == sizeof(word));
    const word bits = __ldcg(reinterpret_cast<const word*>(from.data + i));
    std::remove_const_t<T> value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  __device__ static void fence() {  // __threadfence() is stronger: sequentially consistent
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }

  template <std::integral T>
  __device__ T atomic_add(T& shared, std::type_identity_t<T> value) {
    return static_cast<T>(atomicAdd(reinterpret_cast<sum_t<T>*>(&shared), sum_t<T>(value)));
  }
  template <std::integral T>
  __device__ T atomic_min(T& shared, std::type_identity_t<T> value) {
    return static_cast<T>(atomicMin(reinterpret_cast<order_t<T>*>(&shared), order_t<T>(value)));
  }
  template <std::integral T>
  __device__ T atomic_max(T& shared, std::type_identity_t<T> value) {
    return static_cast<T>(atomicMax(reinterpret_cast<order_t<T>*>(&shared), order_t<T>(value)));
  }
  template <std::integral T>
  __device__ T atomic_add(global<T> to, std::int64_t i, std::type_identity_t<T> value) {
    return atomic_add(to.data[i], value);
  }
  template <std::integral T>
  __device__ T atomic_min(global<T> to, std::int64_t i, std::type_identity_t<T> value) {
    return atomic_min(to.data[i], value);
  }
  template <std::integral T>
  __device__ T atomic_max(global<T> to, std::int64_t i, std::type_identity_t<T> value) {
    return atomic_max(to.data[i], value);
  }

  // One 16-byte access. The memory model treats a vector of two words as two accesses.
  __device__ static void post(global<message> to, std::int64_t i, message m) {
    asm volatile(
        "{ .reg .b128 both; mov.b128 both, {%1, %2};\n\t"
        "st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(__cvta_generic_to_global(to.data + i)),
        "l"(m.payload), "l"(m.tag)
        : "memory");
  }
  __device__ static message look(global<message> from, std::int64_t i) {
    message m;
    asm volatile(
        "{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2];\n\t"
        "mov.b128 {%0, %1}, both; }"
        : "=l"(m.payload), "=l"(m.tag)
        : "l"(__cvta_generic_to_global(from.data + i))
        : "memory");
    return m;
  }
  __device__ static std::uint64_t await(global<message> from, std::int64_t i, std::uint64_t tag) {
    message m;
    do {
      asm volatile(
          "{ .reg .b128 both; ld.acquire.gpu.global.b128 both, [%2];\n\t"
          "mov.b128 {%0, %1}, both; }"
          : "=l"(m.payload), "=l"(m.tag)
          : "l"(__cvta_generic_to_global(from.data + i))
          : "memory");
    } while (m.tag != tag);
    return m.payload;
  }
  __device__ static message look_awaited(global<message> from, std::int64_t i, std::uint64_t) {
    return look(from, i);
  }

  __device__ static void pause() { __nanosleep(100); }

  // No effect unless the launch overlaps another.
  __device__ static void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  }
  __device__ static void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  }

  __device__ void count(counter, std::int64_t = 1) const {}
  __device__ void count_at(counter, std::int64_t, std::int64_t = 1) const {}
  __device__ void count_step(counter) const {}

 private:
  // The types that CUDA overloads its atomics for. Unsigned addition is correct for both signs.
  template <class T>
  using sum_t = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
  template <class T>
  using order_t =
      std::conditional_t<sizeof(T) == 4, T,
                         std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;

  int dynamic_offset_;
};

namespace detail {

// ptxas allows at most 48 KiB of static shared memory. A larger storage lies at the start of the
// dynamic part, before the dynamic bytes that the launch asks for.
inline constexpr std::size_t static_shared_limit = 48 << 10;
template <class Kernel>
inline constexpr bool storage_is_dynamic = sizeof(typename Kernel::storage) > static_shared_limit;
template <class Kernel>
inline constexpr int dynamic_offset =
    storage_is_dynamic<Kernel> ? int{(sizeof(typename Kernel::storage) + 15) / 16 * 16} : 0;

// The kernel's min_blocks, capped at the number of blocks that one multiprocessor of the target
// architecture holds (CUDA C++ Programming Guide, technical specifications). ptxas ignores a larger
// number.
template <class Kernel>
constexpr int min_blocks_held() {
  constexpr int wanted = min_blocks<Kernel>();
#if !defined(__CUDA_ARCH__)
  return wanted;
#else
  constexpr int arch = __CUDA_ARCH__ / 10;
  constexpr bool large = arch == 80 || (arch >= 90 && arch < 110);
  constexpr int threads = arch < 80 ? 1024 : large ? 2048 : 1536;
  constexpr int blocks = large ? 32 : arch < 89 ? 16 : 24;
  constexpr int by_threads = threads / max_threads<Kernel>();
  constexpr int held = by_threads < blocks ? by_threads : blocks;
  return wanted < held ? wanted : held;
#endif
}

template <class Kernel>
__global__ void __launch_bounds__(max_threads<Kernel>(), min_blocks_held<Kernel>())
    run_on_cuda(const __grid_constant__ typename Kernel::args args) {
  cuda simt(dynamic_offset<Kernel>);
  if constexpr (storage_is_dynamic<Kernel>) {
    void* const start = cuda(0).dynamic_shared();
    Kernel::run(simt, *static_cast<typename Kernel::storage*>(start), args);
  } else {
    __shared__ typename Kernel::storage shared;
    Kernel::run(simt, shared, args);
  }
}

// Whether the error means that the program has no code for this GPU and driver.
inline bool lacks_code(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
         error == cudaErrorUnsupportedPtxVersion;
}

// The status of a CUDA call. Clears the error, so that the next call does not report it again.
inline status cuda_status(cudaError_t error, const char* call, const char* kernel) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  const status_code code = error == cudaErrorMemoryAllocation ? status_code::out_of_memory
                           : lacks_code(error)                ? status_code::unsupported
                                                              : status_code::failed;
  return {code, std::string("kernel ") + kernel + ": " + call + ": " + cudaGetErrorName(error) +
                    " (" + cudaGetErrorString(error) + ")" +
                    (lacks_code(error) ? "; build again with CMAKE_CUDA_ARCHITECTURES naming this "
                                         "GPU's compute capability"
                                       : "")};
}

// Whether all device code of this build supports griddepcontrol.wait (sm_90).
inline constexpr bool all_code_waits = [] {
  for (const int architecture : {__CUDA_ARCH_LIST__}) {
    if (architecture < 900) return false;
  }
  return true;
}();

// The architecture that the kernel's code for this GPU was compiled for: 90 for sm_90 and also
// where the driver made it from PTX for sm_90. 0: the driver does not say; a launch will report
// why. Asks the driver once per compute capability.
template <class Kernel>
int architecture_of(const void* entry, const device& where) {
  constexpr int limit = 1 << 12;
  static std::atomic<int> known{0};  // compute capability * limit + architecture
  int answer = known.load(std::memory_order_relaxed);
  if (answer / limit != where.compute_capability) {
    cudaFuncAttributes code{};
    if (cudaFuncGetAttributes(&code, entry) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return 0;
    }
    answer = where.compute_capability * limit + code.ptxVersion;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer % limit;
}

// Whether the code that the driver loaded for this GPU supports griddepcontrol.wait. Code compiled
// from PTX older than sm_90 ignores the wait on every GPU, so no launch may overlap.
template <class Kernel>
bool code_waits(const void* entry, const device& where) {
  if (where.compute_capability < 90) return false;
  return all_code_waits || architecture_of<Kernel>(entry, where) >= 90;
}

// Lets a kernel have so much dynamic shared memory, if that takes an opt-in.
template <class Kernel>
status opt_in(const char* name, const void* entry, std::size_t dynamic, const executor& where) {
  // The compiler may round static storage up a little. An unneeded opt-in does no harm.
  constexpr std::size_t rounding = 1 << 10;
  constexpr std::size_t declared =
      storage_is_dynamic<Kernel> ? 0 : sizeof(typename Kernel::storage);
  if (declared + dynamic + rounding <= static_shared_limit) return {};
  static shared_limit limit;
  const std::size_t all = where.device->shared_bytes;  // 0: unknown
  const std::size_t most = all - std::min(all, declared + rounding);
  const cudaError_t code = limit.raise(dynamic, most, [&](std::size_t bytes) {
    return cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(bytes));
  });
  if (code == cudaSuccess) return {};
  return cuda_status(
      code, ("opting in to " + std::to_string(dynamic) + " bytes of dynamic shared memory").c_str(),
      name);
}

template <class Kernel>
status launch_on_cuda(const char* name, const grid& shape, const typename Kernel::args& args,
                      const executor& where) {
  const auto* const entry = reinterpret_cast<const void*>(&run_on_cuda<Kernel>);
  const std::size_t dynamic = dynamic_offset<Kernel> + shape.dynamic_shared_bytes;
  if (const status opted = opt_in<Kernel>(name, entry, dynamic, where); !opted.ok()) return opted;
  void* parameters[] = {const_cast<typename Kernel::args*>(&args)};
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = dynamic;
  config.stream = static_cast<cudaStream_t>(where.stream);
  config.attrs = &overlap;
  config.numAttrs = shape.overlaps_previous && code_waits<Kernel>(entry, *where.device) ? 1 : 0;
  return cuda_status(cudaLaunchKernelExC(&config, entry, parameters), "cudaLaunchKernelExC", name);
}

}  // namespace detail

// The architecture that a kernel's code for a GPU was compiled for (detail::architecture_of). A
// verb that needs a newer one traps in it.
template <class Kernel>
int compiled_for(const device& where) {
  return detail::architecture_of<Kernel>(
      reinterpret_cast<const void*>(&detail::run_on_cuda<Kernel>), where);
}

}  // namespace kselect::simt
