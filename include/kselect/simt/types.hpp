#pragma once
// What a kernel is made of, whatever it runs on. A kernel is a struct:
//
//     struct my_kernel {
//       struct storage {...};                    // one block's shared memory; may be empty
//       struct args {...};                       // passed by value; global<T> for global memory
//       static constexpr int max_threads = 256;  // optional, and min_blocks: __launch_bounds__
//       template <class Simt>
//       KSELECT_HD static void run(Simt& simt, storage& shared, const args& a);
//     };
//
// and `run` reaches its surroundings through the verbs of `simt` alone: simt::cuda (cuda.cuh) on a
// GPU, simt::fiber (fiber.hpp) on the CPU. launch.hpp starts it.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kselect/hd.hpp"

namespace kselect::simt {

inline constexpr int warp_size = 32;
inline constexpr std::uint32_t full_mask = 0xffffffffU;

// The most blocks and threads a launch may have, on either executor.
inline constexpr std::int64_t block_limit = 0x7fffffff;
inline constexpr int thread_limit = 1024;

// The shape of a launch: 1 to 2^31-1 blocks of 32 to 1024 threads, a multiple of 32.
struct grid {
  std::int64_t blocks = 0;
  int threads = 0;
  std::size_t dynamic_shared_bytes = 0;  // beside the kernel's storage
  // The kernel may start before the one launched before it on the stream has ended: as soon as all
  // blocks of that one have called let_next_start() or returned. Until a block of it has called
  // wait_for_previous(), it neither writes global memory nor reads what the kernel before writes.
  // (A programmatic dependent launch, CUDA C++ Programming Guide; GPUs before compute capability
  // 9.0, code for them on any GPU, and fibers run the two one after the other.)
  bool overlaps_previous = false;
  // A block may wait for what one with a lower number posts (await()). On a GPU blocks start in the
  // order of their numbers in any case, as CUB's scans rely on; fibers run one after the other
  // then.
  bool awaits_earlier_blocks = false;
};

// What a block posts for others of its launch. They see all of it or nothing.
struct alignas(16) message {
  std::uint64_t payload;
  std::uint64_t tag;  // by which it is known to be there
};

// `size` elements of global memory. On a GPU the size costs nothing: it is never read.
template <class T>
struct global {
  T* data = nullptr;
  std::int64_t size = 0;

  template <std::same_as<const T> Const>
  requires(!std::is_const_v<T>) KSELECT_HD constexpr operator global<Const>() const {
    return {data, size};
  }
};

// N elements moved by one instruction: `simt.load(as_vec<4>(row), i)` is elements 4i to 4i+3.
template <class T, int N>
struct alignas(sizeof(T) * N) vec {
  static_assert(sizeof(T) * N <= 16, "the widest load moves 16 bytes");
  T values[N];
  KSELECT_HD constexpr T& operator[](int i) { return values[i]; }
  KSELECT_HD constexpr const T& operator[](int i) const { return values[i]; }
};

namespace detail {

template <class T>
inline constexpr int elements_of = 1;
template <class T, int N>
inline constexpr int elements_of<vec<T, N>> = N;

template <class T, int N>
struct vec_like {
  using type = vec<T, N>;
};
template <class T, int N>
struct vec_like<const T, N> {
  using type = const vec<T, N>;
};

template <class Kernel>
constexpr int max_threads() {
  if constexpr (requires { Kernel::max_threads; }) {
    return Kernel::max_threads;
  } else {
    return thread_limit;
  }
}

template <class Kernel>
constexpr int min_blocks() {
  if constexpr (requires { Kernel::min_blocks; }) {
    return Kernel::min_blocks;
  } else {
    return 1;
  }
}

// A fiber's shared memory is poisoned bytes and a GPU's is whatever the last block left there: no
// constructor may seem to run.
template <class Kernel>
constexpr void require_kernel() {
  using storage = typename Kernel::storage;
  static_assert(std::is_trivially_default_constructible_v<storage> &&
                    std::is_trivially_destructible_v<storage>,
                "storage must be trivial: shared memory is never initialised");
  static_assert(alignof(storage) <= 128, "shared memory is aligned to 128 bytes at most");
  static_assert(std::is_trivially_copyable_v<typename Kernel::args>,
                "args are copied to the GPU byte by byte");
  static_assert(max_threads<Kernel>() % warp_size == 0 && max_threads<Kernel>() <= thread_limit);
}

}  // namespace detail

// The same memory as vectors of N; the last size % N elements are left out. The address must be
// aligned to the vector; the fiber executor checks that at every access.
template <int N, class T>
KSELECT_HD global<typename detail::vec_like<T, N>::type> as_vec(global<T> elements) {
  return {reinterpret_cast<typename detail::vec_like<T, N>::type*>(elements.data),
          elements.size / N};
}

}  // namespace kselect::simt
