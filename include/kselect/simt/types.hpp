#pragma once
// The parts of a kernel, the same for every executor. A kernel is a struct:
//
//     struct my_kernel {
//       struct storage {...};                    // one block's shared memory; may be empty
//       struct args {...};                       // passed by value; global<T> for global memory
//       static constexpr int max_threads = 256;  // optional, and min_blocks: __launch_bounds__
//       template <class Simt>
//       KSELECT_HD static void run(Simt& simt, storage& shared, const args& a);
//     };
//
// `run` uses only the verbs of `simt`: simt::cuda (cuda.cuh) on a GPU, simt::fiber (fiber.hpp) on
// the CPU. launch.hpp starts it.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kselect/hd.hpp"

namespace kselect::simt {

inline constexpr int warp_size = 32;
inline constexpr std::uint32_t full_mask = 0xffffffffU;

// The largest launch, on either executor.
inline constexpr std::int64_t block_limit = 0x7fffffff;
inline constexpr int thread_limit = 1024;

// The shape of a launch: 1 to 2^31-1 blocks of 32 to 1024 threads, a multiple of 32.
struct grid {
  std::int64_t blocks = 0;
  int threads = 0;
  std::size_t dynamic_shared_bytes = 0;  // in addition to the kernel's storage
  // Allows a programmatic dependent launch (CUDA C++ Programming Guide). The kernel may start once
  // all blocks of the previous launch have called let_next_start() or returned. Before a block
  // calls wait_for_previous(), it must not write global memory or read what the previous launch
  // writes. On GPUs or code before sm_90, and on fibers, the two run one after the other.
  bool overlaps_previous = false;
  // A block may wait for a message of a block with a lower number (await()). GPUs start blocks in
  // order of their numbers in any case; CUB's scans rely on it too. Fibers then run them in order.
  bool awaits_earlier_blocks = false;
};

// A message between blocks of one launch. Readers see all of it or nothing.
struct alignas(16) message {
  std::uint64_t payload;
  std::uint64_t tag;  // marks the message as present
};

// `size` elements of global memory. GPU code never reads the size, so it costs nothing there.
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

// Storage must be trivial because no constructor runs: shared memory starts with poison on fibers
// and with a previous block's data on a GPU.
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

// The same memory as vectors of N, without the last size % N elements. The address must be aligned
// to the vector; the fiber executor checks it at every access.
template <int N, class T>
KSELECT_HD global<typename detail::vec_like<T, N>::type> as_vec(global<T> elements) {
  return {reinterpret_cast<typename detail::vec_like<T, N>::type*>(elements.data),
          elements.size / N};
}

}  // namespace kselect::simt
