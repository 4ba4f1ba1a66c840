#pragma once
// Buffered multi-select: the functions that the registered entries call. Each element type has its
// own file of instantiations (block_*.cu, grid_*.cu), so that kernels compile in parallel. T is
// float, double, or float16 for both 16-bit types.

#include <cstddef>
#include <cstdint>
#include <span>

#include "kselect/algorithm.hpp"

namespace kselect::bms {

// A registered variant with one warp or one block a row. 0 threads: the shape decides.
struct block_variant {
  bool warp;
  int threads;
};

template <class T>
support block_supports(const block_variant& v, const problem& p, const device& where);
template <class T>
status block_enqueue(const block_variant& v, const problem& p, const io& buffers,
                     const executor& on);

// A registered variant with several blocks a row. 0 threads: n and the device decide.
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

// A number that this process has not returned before, and most likely no other process has.
std::uint64_t new_call();

}  // namespace kselect::bms
