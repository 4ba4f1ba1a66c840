#pragma once
// Buffered multi-select: what the entries of its two files call. Declared for any type of element,
// and instantiated type by type in files of their own (block_*.cu, grid_*.cu), whose kernels then
// compile side by side. T is float, double, or float16 for both 16-bit types.

#include <cstddef>
#include <cstdint>
#include <span>

#include "kselect/algorithm.hpp"

namespace kselect::bms {

// A registered form of a row a warp or a block; 0 threads: the shape decides.
struct block_variant {
  bool warp;
  int threads;
};

template <class T>
support block_supports(const block_variant& v, const problem& p, const device& where);
template <class T>
status block_enqueue(const block_variant& v, const problem& p, const io& buffers,
                     const executor& on);

// A registered form of several blocks a row; 0 threads: the device decides.
struct grid_variant {
  int threads;
};

template <class T>
support grid_supports(const grid_variant& v, const problem& p, const device& where);
template <class T>
std::size_t grid_workspace(const grid_variant& v, const problem& p, const device& where);
template <class T>
status grid_enqueue(const grid_variant& v, const problem& p, const io& buffers,
                    std::span<std::byte> memory, const executor& on);

// A number that no call of this process had before, and most likely none of another.
std::uint64_t new_call();

}  // namespace kselect::bms
