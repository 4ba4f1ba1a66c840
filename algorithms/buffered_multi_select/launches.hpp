#pragma once
// Buffered multi-select: the plans of the registered entries. Each element type has its
// own file of instantiations (block_*.cu, grid_*.cu), so that kernels compile in parallel. T is
// float, double, float16 for both 16-bit types, or a word for the types of 32 and 8 bits that
// kernels take as words (dtypes.hpp): the two words share their files, block/words.cu and others.

#include <cstdint>

#include "kselect/algorithm.hpp"

namespace kselect::bms {

// A registered variant with one warp or one block a row. 0 threads: the shape decides.
struct block_variant {
  bool warp;
  int threads;
};

template <class T>
call_plan block_plan(const block_variant& v, const problem& p, const device& where);

// The same for rows of lengths of their own.
template <class T>
call_plan ragged_plan(const block_variant& v, const problem& p, const device& where);

// The same with long rows cut into pieces.
template <class T>
call_plan cut_plan(const problem& p, const device& where);

// A registered variant with several blocks a row. 0 threads: n and the device decide.
struct grid_variant {
  int threads;
};

template <class T>
call_plan grid_plan(const grid_variant& v, const problem& p, const device& where);

// A number that this process has not returned before, and most likely no other process has.
std::uint64_t new_call();

}  // namespace kselect::bms
