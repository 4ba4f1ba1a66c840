#pragma once
// Warp selection's launch by type of element, each compiled in a file of its own.

#include "kselect/algorithm.hpp"

namespace kselect::warp_select {

inline constexpr int most_queue = 1024;  // the largest k

// All rows of `p`, a row a warp, `warps` of them a block. `T` is the rows' type.
template <class T>
status select_rows(int warps, const problem& p, const io& buffers, const executor& on);

}  // namespace kselect::warp_select
